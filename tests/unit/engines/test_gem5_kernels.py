"""Engine gem5-kernels: objects, processes and proof of a point."""

from __future__ import annotations

from pathlib import Path

import pytest
from launcher_layers import LAYERS
from launcher_tools import code_object, played, run, source_rows
from sweep_texts import HEAD, expand

from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction, parse
from apuflow.engines.derived_kernels import kernel_objects, kernel_run
from apuflow.miopen import Launch, launches
from apuflow.miopen.compiler import Compiler

OPTIONS: dict[str, int | str] = {
    "num-compute-units": 4,
    "num-cpus": 3,
    "gfx-version": "gfx801",
    "dgpu": False,
}


def _launches(text: str, direction: Direction) -> tuple[Launch, ...]:
    return launches(parse(text), direction, 4)


def test_objects_are_planned_before_the_pinned_sources_are_there(tmp_path: Path) -> None:
    """A fresh project clones MIOpen first; the names of its objects hold the commit, not the files."""
    found = _launches(LAYERS["softmax"], "fwd")
    compiler = Compiler("test", ("false",), (), "compiler 1")
    names = [
        [item.name for item in kernel_objects(found, "gfx801", compiler, tmp_path / place, "0" * 40).values()]
        for place in ("nowhere", "elsewhere")
    ]
    assert names[0] == names[1] and len(names[0]) == 1


def test_process_of_a_convolution(tmp_path: Path) -> None:
    """2 images, im2col and product for each: one process; a block per launch, one before, one after."""
    found = _launches(LAYERS["conv"], "fwd")
    compiler = Compiler("test", ("false",), (), "compiler 1")
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "MIOpenIm2d2Col.cl").write_text("kernel")
    objects = {
        row: item.path(tmp_path) for row, item in kernel_objects(found, "gfx801", compiler, kernels).items()
    }
    assert [row.program for row in objects] == ["MIOpenIm2d2Col.cl", "gemm.cl"]
    data = tmp_path / "mmap.bin"
    data.write_bytes(bytes(1 << 16))
    made = kernel_run(
        found,
        gfx="gfx801",
        options=OPTIONS,
        launcher=tmp_path / "bin" / "launcher",
        objects=objects,
        data=data,
    )
    process = made.process
    assert [launch.kernel for launch in made.launches] == ["Im2d2Col", "sgemm"] * 2
    assert made.launches[1].grid == (32, 16, 1)
    assert process.expectation.blocks == 6
    assert process.expectation.kernels == 4
    assert process.expectation.end_marker == "apuflow-launcher: 4 of 4 dispatches done"
    assert process.guest.directory == tmp_path / "bin"
    assert process.guest.arguments == ("all/dispatch.list",)
    text = process.files["all/dispatch.list"].splitlines()
    assert "statistics dispatch" in text
    assert "data data.bin" in text
    assert [line for line in text if line.startswith("object")] == ["object kernel0.o", "object kernel1.o"]
    assert process.links == dict(zip(("kernel0.o", "kernel1.o"), objects.values(), strict=True)) | {
        "data.bin": data
    }
    assert set(made.reads) == {tmp_path / "bin" / "launcher", data, *objects.values()}


def test_inputs_in_memory_are_loaded_and_compared_as_others(tmp_path: Path) -> None:
    """Pooling's mask is made by the guest in either case; x and dy stand in the data file."""
    data = tmp_path / "mmap.bin"
    data.write_bytes(bytes(1 << 20))
    found = _launches(LAYERS["pool_max"], "bwd")
    rows = kernel_objects(found, "gfx801", Compiler("test", ("false",), (), "c"), tmp_path, "0" * 40)
    buffers = {}
    for place in (False, True):
        made = kernel_run(
            found,
            gfx="gfx801",
            options=OPTIONS,
            launcher=tmp_path / "launcher",
            objects={row: item.path(tmp_path) for row, item in rows.items()},
            data=data,
            in_memory=place,
        )
        text = made.process.files["all/dispatch.list"].splitlines()
        buffers[place] = [line.split()[3] for line in text if line.startswith("buffer")]
    assert "file" in buffers[False] and "modulo" in buffers[False]
    assert buffers[True] == [{"file": "loaded"}.get(kind, kind) for kind in buffers[False]]


def test_a_sweep_of_inputs_in_memory_has_points_of_its_own(root: Path) -> None:
    """Of both engines; where the key says what was always so, they are the same points as without it."""
    text = HEAD.replace("[preview]", "[gem5-kernels, preview]")
    plain, caches, memory = (expand(root, text + key) for key in ("", "inputs: caches\n", "inputs: memory\n"))
    assert [point.id for point in plain] == [point.id for point in caches]
    assert not {point.identity for point in plain} & {point.identity for point in memory}
    assert all("inmemory" in point.label and point.in_memory for point in memory)


def test_releases_that_write_statistics_themselves(tmp_path: Path) -> None:
    found = _launches(LAYERS["softmax"], "bwd")
    objects = dict.fromkeys(source_rows(found), tmp_path / "k.o")
    made = kernel_run(
        found,
        gfx="gfx801",
        options=OPTIONS,
        launcher=tmp_path / "launcher",
        objects=objects,
        statistics="reset",
    )
    process = made.process
    assert "statistics reset" in process.files["all/dispatch.list"]
    assert process.expectation.blocks is None


def test_unknown_gpu(tmp_path: Path) -> None:
    found = _launches(LAYERS["softmax"], "fwd")
    with pytest.raises(ConfigError, match="not a GPU that gem5 models"):
        kernel_run(found, gfx="gfx1030", options=OPTIONS, launcher=tmp_path, objects={})


def test_objects_depend_on_sources_and_compiler(tmp_path: Path) -> None:
    found = _launches(LAYERS["fc"], "bwd")
    first, second = (Compiler("test", ("false",), (), identity) for identity in ("1", "2"))
    names = {item.name for item in kernel_objects(found, "gfx801", first, tmp_path).values()}
    assert len(names) == 2  # the two transposes of backward
    assert names.isdisjoint(item.name for item in kernel_objects(found, "gfx801", second, tmp_path).values())


def test_guest_runs_from_its_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists name files as the process's directory shows them, so a run can be moved and repeated."""
    found = _launches(LAYERS["bypass"], "fwd")
    source = tmp_path / "object.o"
    source.write_bytes(code_object("MIOpenActiveFwdLite", kernarg=48))
    made = kernel_run(
        found,
        gfx="gfx801",
        options=OPTIONS,
        launcher=played(),
        objects=dict.fromkeys(source_rows(found), source),
    )
    process = made.process
    work = tmp_path / "work"
    for name, text in process.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    for name, target in process.links.items():
        (work / name).symlink_to(target)
    monkeypatch.chdir(work)
    done = run(played(), *process.guest.arguments, trace=tmp_path / "trace", idle=True)
    assert done.returncode == 0, done.stderr
    assert (process.expectation.end_marker or "no marker") in done.stdout
    assert (work / "all" / "out0.bin").stat().st_size == 4 * 30
