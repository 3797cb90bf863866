"""Engine gem5-kernels on own kernels: what is needed, what is run, what is refused before it."""

from __future__ import annotations

from pathlib import Path

import needs
import pytest
from host_tools import GEM5, RUN, own_inputs, toolset
from sweep_texts import expand

from apuflow.core.errors import ConfigError, EngineError
from apuflow.engines import simulating_engine
from apuflow.kernels.reference import OwnJudge
from apuflow.launcher.dispatch_list import Contents
from apuflow.miopen.compiler import Compiler, host_compiler
from apuflow.prepare.tools import Toolset

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


@pytest.mark.parametrize("workload", ["own_reduction", "own_histogram", "own_vector_add"])
def test_inputs_in_memory_are_those_that_the_cpu_would_have_written(
    root: Path, clang: Compiler, workload: str
) -> None:
    """What the guest would compute stands in its data file, and is loaded from there."""
    text = SWEEP.replace("own_reduction", workload)
    (written,), (loaded,) = (expand(root, text + key) for key in ("", "inputs: memory\n"))
    tools = toolset(root)
    (item,) = ENGINE.needs(tools, written).objects
    lists, data = [], b""
    for point in (written, loaded):
        process = ENGINE.prepare(tools, point, own_inputs(root, item), GEM5, RUN).process
        lists.append([line.split() for line in process.files["all/dispatch.list"].splitlines()])
        data = next(iter(process.data.values()), b"")
    buffers = [[line for line in lines if line[0] == "buffer"] for lines in lists]
    assert any(line[3] in ("uniform", "modulo") for line in buffers[0])
    for (_, name, size, kind, *numbers), (_, _, _, found, *place) in zip(*buffers, strict=True):
        if kind == "touch":
            assert found == "touch"
            continue
        assert found == "loaded", name
        begin = int(place[0])
        want = Contents(kind, tuple(map(int, numbers))).values(int(size))
        assert data[begin : begin + int(size)] == want.tobytes()


def test_a_machine_that_can_never_place_a_workgroup(root: Path, clang: Compiler) -> None:
    (point,) = expand(root, f"{SWEEP}options: {{lds-size: 512}}\n")
    tools = toolset(root)
    (item,) = ENGINE.needs(tools, point).objects
    inputs = own_inputs(root, item)
    with pytest.raises(ConfigError, match=r"1024 bytes of LDS and can never be placed[\s\S]*lds-size"):
        ENGINE.prepare(tools, point, inputs, GEM5, RUN)


def test_a_gem5_with_times_of_matrix_instructions_is_told_a_gpu_without(root: Path) -> None:
    """Pull request 2039: it ends at a matrix instruction of a GPU that its table does not have."""
    try:
        host_compiler(code_object=4, gfx="gfx942")
    except EngineError:
        needs.LATER_CLANG.skip()
    releases = root / "configs/gem5"
    text = (releases / "v24.1.yaml").read_text()
    (releases / "mine.yaml").write_text(text.replace("matrix_cycles: none", "matrix_cycles: table"))
    source = root / "configs/workloads/kernels/vector_add.cl"
    product = "__builtin_amdgcn_mfma_f32_16x16x4f32(a[i], b[i], (f4)(c[i]), 0, 0, 0)[0]"
    begin = "typedef float f4 __attribute__((ext_vector_type(4)));\n"
    text = source.read_text().replace("__kernel", "__attribute__((amdgpu_waves_per_eu(2))) __kernel")
    source.write_text(begin + text.replace("c[i] = ", f"c[i] = {product} + "))
    sweep = SWEEP.replace("own_reduction", "own_vector_add") + "options: {gfx-version: gfx942}\n"
    for release in ("v24.1", "mine"):
        (point,) = expand(root, sweep.replace("v23.0", release))
        tools = Toolset(release, root)
        tools.__dict__["image"] = toolset(root).image
        (item,) = ENGINE.needs(tools, point).objects
        inputs = own_inputs(root, item)
        if release == "v24.1":
            (launch,) = ENGINE.prepare(tools, point, inputs, GEM5, RUN).launches
            assert launch.matrix == {"f32": (2 * 16 * 16 * 4, 32)}
        else:
            with pytest.raises(ConfigError, match="no times of matrix instructions for gfx902"):
                ENGINE.prepare(tools, point, inputs, GEM5, RUN)
