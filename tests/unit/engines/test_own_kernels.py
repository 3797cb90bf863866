"""Engine gem5-kernels on own kernels: what is needed, what is run, what is refused before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_tools import GEM5, RUN, own_inputs, toolset
from sweep_texts import expand

from apuflow.core.errors import ConfigError
from apuflow.engines import simulating_engine
from apuflow.kernels.reference import OwnJudge
from apuflow.miopen.compiler import Compiler

SWEEP = "description: x\nengines: [gem5-kernels]\nrelease: v23.0\nworkloads: [own_reduction]\n"
ENGINE = simulating_engine("gem5-kernels")


def test_a_point_needs_neither_miopen_nor_a_data_file(root: Path, clang: Compiler) -> None:
    (point,) = expand(root, SWEEP)
    needs = ENGINE.needs(toolset(root), point)
    assert needs.data is None and needs.database is None
    (item,) = needs.objects
    assert item.row.program == "configs/workloads/kernels/reduction.cl"
    assert item.name.startswith("reduction-")
    assert not any("miopen" in tool for tool in needs.tools)


def test_the_run_of_a_point(root: Path, clang: Compiler) -> None:
    """Two launches: 128 workgroups of 256, then one; a block of statistics each, one before, one after."""
    (point,) = expand(root, SWEEP)
    tools = toolset(root)
    (item,) = ENGINE.needs(tools, point).objects
    inputs = own_inputs(root, item)
    (place,) = inputs.objects.values()
    prepared = ENGINE.prepare(tools, point, inputs, GEM5, RUN)
    assert [launch.grid for launch in prepared.launches] == [(32768, 1, 1), (256, 1, 1)]
    assert prepared.process.expectation.blocks == 4 and prepared.process.expectation.kernels == 2
    assert prepared.process.links == {"kernels.o": root / place}
    text = prepared.process.files["all/dispatch.list"]
    assert "dispatch 0 reduction 32768 1 1 256 1 1 " in text and "dump total all/out0.bin" in text
    assert isinstance(prepared.process.judge, OwnJudge)
    assert prepared.provenance.gem5_commit == "1" * 40
    assert set(prepared.reads) == {(root / "build/launcher").absolute(), root / place}


def test_a_machine_that_can_never_place_a_workgroup(root: Path, clang: Compiler) -> None:
    (point,) = expand(root, f"{SWEEP}options: {{lds-size: 512}}\n")
    tools = toolset(root)
    (item,) = ENGINE.needs(tools, point).objects
    inputs = own_inputs(root, item)
    with pytest.raises(ConfigError, match=r"1024 bytes of LDS and can never be placed[\s\S]*lds-size"):
        ENGINE.prepare(tools, point, inputs, GEM5, RUN)
