"""Launches of the first workgroups of large grids."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_tools import GEM5, RUN, own_inputs, toolset
from places import ROOT
from sweep_texts import expand, one

from apuflow.configure import load_release, option_rules
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import parse
from apuflow.engines import simulating_engine
from apuflow.engines.derived_kernels import kernel_objects, kernel_run
from apuflow.engines.fewer_workgroups import Fewer, first_workgroups
from apuflow.launcher.judge import KernelJudge
from apuflow.launcher.plan import source_directory
from apuflow.miopen import launches
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.objects import compile_object

HEAD = "description: x\nengines: [gem5-kernels, preview]\nrelease: v23.0\nworkloads: [WORKLOAD]\n"


@pytest.mark.parametrize(
    ("groups", "held", "fills", "most", "wanted"),
    [
        ((6272, 1, 1), 160, 8, 0, (1312, 1, 1)),  # 8 times 160, and the 32 that 6272 leaves over
        ((1000, 1, 1), 16, 8, 0, (136, 1, 1)),
        ((1, 1, 1000), 16, 8, 0, (1, 1, 136)),
        ((100, 1, 1), 16, 8, 0, None),  # 128 are needed
        ((180, 1, 1), 16, 8, 0, None),  # 132 of 180 are more than 70 %
        ((144, 13, 1), 16, 8, 0, (144, 2, 1)),  # the first layer, and 7 fillings of the next
        ((32, 16, 1), 16, 8, 0, (32, 5, 1)),  # 32 + 7 * 16 = 144 are five layers
        ((1000, 1, 1), 40, 4, 40, (160, 1, 1)),
        ((1000, 1, 1), 40, 4, 64, (280, 1, 1)),  # seen to hold 64: four of these are 256, the rest as of 40
        ((1000, 1, 1), 40, 8, 64, (320, 1, 1)),
    ],
)
def test_how_many_workgroups_are_launched(
    groups: tuple[int, ...], held: int, fills: int, most: int, wanted: tuple[int, ...] | None
) -> None:
    assert first_workgroups(groups, held, fills, most) == wanted


def _machine(units: int) -> dict[str, Scalar]:
    release = load_release("v23.0", ROOT)
    return option_rules.defaults(release.options_of) | {"num-compute-units": units, "gfx-version": "gfx801"}


def test_a_product_of_many_tiles(clang: Compiler, tmp_path: Path) -> None:
    """512 x 512 x 16 in tiles of 16 x 16; four units hold 4 workgroups each (barrier slots of v23.0)."""
    text = "[DNNMark]\nrun_mode=standalone\n\n[FullyConnected]\nname=l\nn=512\nc=16\nh=1\nw=1\n"
    found = launches(parse(text + "previous_layer=null\nnum_output=512\n"), "fwd", 4)
    made = kernel_objects(found, "gfx801", clang, tmp_path)
    for row, item in made.items():
        compile_object(row, "gfx801", clang, source_directory(row.program, tmp_path), item.path(tmp_path))
    objects = {row: item.path(tmp_path) for row, item in made.items()}
    machine = _machine(4)
    whole, fewer = (
        kernel_run(
            found,
            gfx="gfx801",
            options=machine,
            launcher=tmp_path / "launcher",
            objects=objects,
            fewer=asked,
        )
        for asked in (None, Fewer(8, machine, 4))
    )
    assert "sgemm 512 512 1 16 16 1" in whole.process.files["all/dispatch.list"]
    assert "sgemm 512 80 1 16 16 1" in fewer.process.files["all/dispatch.list"]
    [launch] = fewer.launches
    assert (launch.grid, launch.workgroups, launch.ran, launch.launched_workgroups) == (
        (512, 512, 1),
        1024,
        160,
        160,
    )
    assert [one.ran for one in whole.launches] == [None]
    assert (whole.process.trace_workgroups, fewer.process.trace_workgroups) == (False, True)
    assert isinstance(fewer.process.judge, KernelJudge)
    assert fewer.process.judge.shares == (160 / 1024,)


def test_kernels_of_ones_own(root: Path, clang: Compiler) -> None:
    """65,536 additions by 256 workgroups; four units hold 16 at a time."""
    engine = simulating_engine("gem5-kernels")
    text = HEAD.replace("WORKLOAD", "own_vector_add").replace(", preview", "")
    point = one(root, text + "workgroups: {fills: 4}\n", "own_vector_add")
    tools = toolset(root)
    (item,) = engine.needs(tools, point).objects
    inputs = own_inputs(root, item)
    prepared = engine.prepare(tools, point, inputs, GEM5, RUN)
    assert [launch.ran for launch in prepared.launches] == [64]
    assert "dispatch 0 vector_add 16384 1 1 256 1 1 " in prepared.process.files["all/dispatch.list"]
    assert prepared.process.judge is not None
    results = prepared.process.judge.results(root)
    assert results is not None and "not all of its workgroups" in (results.note or "")
    fast = GEM5.model_copy(update={"binary": "/opt/gem5.fast"})
    with pytest.raises(ConfigError, match=r"gem5\.fast cannot trace"):
        engine.prepare(tools, point, inputs, fast, RUN)


def test_points_of_their_own(root: Path) -> None:
    """Only where a launch is large, only of the engine that launches fewer, never that of the whole run."""
    for workload, large in (("activation_fwd", True), ("softmax_fwd", False)):
        text = HEAD.replace("WORKLOAD", workload) + "layer: {n: 40}\n"
        whole = expand(root, text, workload)
        fewer, more = (expand(root, f"{text}workgroups: {{fills: {fills}}}\n", workload) for fills in (8, 16))
        assert [point.engine for point in fewer] == ["gem5-kernels", "preview"]
        assert fewer[1].id == whole[1].id
        assert len({points[0].identity for points in (whole, fewer, more)}) == (3 if large else 1)
        assert ("fills8" in fewer[0].label) is large
