"""From launches to guest processes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

import pytest
from launcher_layers import LAYERS
from launcher_tools import built, code_object, played, run, source_rows

from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction, parse
from apuflow.launcher.plan import SGEMM, SGEMM_SOURCE, GuestRun, guest_run
from apuflow.miopen import Launch, launches
from apuflow.miopen.compiler import Compiler


def plan(name: str, direction: Literal["fwd", "bwd"], directory: Path, *, data_bytes: int = 0) -> GuestRun:
    found = launches(parse(LAYERS[name]), direction, 4)
    return guest_run(
        found,
        device="gfx801",
        objects={source: directory / f"{i}.o" for i, source in enumerate(source_rows(found))},
        data=directory / "data.bin" if data_bytes else None,
        data_bytes=data_bytes,
    )


def written(planned: GuestRun, directory: Path) -> Path:
    """The run's dispatch list as a file."""
    path = directory / "dispatch.list"
    path.write_text(planned.contents.text())
    return path


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("name", ["fc", "conv", "conv1x1"])
def test_products_are_named_as_stand_ins(name: str, direction: Literal["fwd", "bwd"]) -> None:
    products = [launch for launch in launches(parse(LAYERS[name]), direction, 4) if launch.gemm]
    assert products
    for launch in products:
        assert launch.kernel == SGEMM
        assert "stand-in for rocBLAS" in launch.note


def test_loops_are_unrolled_on_shared_buffers(tmp_path: Path) -> None:
    run = plan("conv", "bwd", tmp_path)
    assert [launch.kernel for launch in run.launches] == [
        "SubTensorOpWithScalar1d",
        *("Im2d2Col", "sgemm") * 2,
        *("sgemm", "Col2Im2d") * 2,
    ]
    assert run.contents.end_marker == "apuflow-launcher: 9 of 9 dispatches done"
    assert run.contents.statistics == "dispatch"
    names = [buffer.name for buffer in run.contents.buffers]
    assert (
        len(names) == len(set(names)) == 5
    )  # weights' gradient, input, workspace, output's gradient, weights
    # the second image begins 3 * 9 * 8 elements into the input
    second = run.contents.dispatches[3]
    assert second.arguments[2].value == 216
    assert {output.buffer for output in run.outputs} == {
        "layer.weights_diff",
        "layer.bottom",
        "layer.workspace",
    }


def test_inputs_come_from_the_data_file_as_dnnmark_takes_them(tmp_path: Path) -> None:
    """One page each, around again when the file ends; outputs are only touched."""
    run = plan("softmax", "bwd", tmp_path, data_bytes=4096)
    assert [buffer.line() for buffer in run.contents.buffers] == [
        "buffer b0 960 file 0",
        "buffer b1 960 file 0",
        "buffer b2 960 touch",
    ]
    run = plan("softmax", "bwd", tmp_path, data_bytes=8192)
    assert run.contents.buffers[1].line() == "buffer b1 960 file 4096"
    with pytest.raises(ConfigError, match="smaller than a buffer"):
        plan("softmax", "bwd", tmp_path, data_bytes=959)


def test_mask_of_maximum_pooling_stays_inside_the_window(tmp_path: Path) -> None:
    run = plan("pool_max", "bwd", tmp_path, data_bytes=1 << 20)
    assert [buffer.contents.kind for buffer in run.contents.buffers] == ["file", "touch", "modulo"]
    assert run.contents.buffers[2].contents.parameters[1] == 9
    assert run.contents.buffers[2].size == 2 * 3 * 5 * 6  # bytes


def test_a_list_that_does_not_fit_its_object_is_found_without_gem5(tmp_path: Path) -> None:
    listed = written(plan("bypass", "fwd", tmp_path), tmp_path)
    (tmp_path / "0.o").write_bytes(code_object("MIOpenActiveFwdLite", kernarg=48))
    assert run(built(), "--check", listed).returncode == 0
    (tmp_path / "0.o").write_bytes(code_object("MIOpenActiveFwdLite", kernarg=40))
    done = run(built(), "--check", listed)
    assert done.returncode != 0
    assert "takes 40 bytes of arguments, the list gives 48" in done.stderr


def test_packing_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bn forward takes pointer, 2 uint, 3 pointers, double, 2 pointers, double, 2 pointers: 96 bytes."""
    listed = written(plan("bn", "fwd", tmp_path), tmp_path)
    (tmp_path / "0.o").write_bytes(code_object("MIOpenBatchNormFwdTrainPerActivation", kernarg=96))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all").mkdir()
    done = run(played(), listed, trace=tmp_path / "trace", idle=True)
    assert done.returncode == 0, done.stderr
    arguments = (tmp_path / "trace").read_bytes()[8 + 64 + 256 + 256 :]
    assert len(arguments) == 96
    assert arguments[8:16] == bytes.fromhex("30000000 10000000")  # 48 and 16
    assert arguments[40:48] == bytes.fromhex("000000000000e03f")  # 0.5
    assert arguments[64:72] == bytes.fromhex("f168e388b5f8e43e")  # 1e-5


def test_stand_in_compiles_and_takes_these_arguments(clang: Compiler, tmp_path: Path) -> None:
    """The compiler's own layout of sgemm's arguments holds what we pass, on every transpose."""
    [libraries] = [word for word in clang.command if word.startswith("--rocm-device-lib-path=")]
    cases: tuple[tuple[str, Direction], ...] = (
        ("fc", "fwd"),
        ("fc", "bwd"),
        ("conv", "fwd"),
        ("conv", "bwd"),
    )
    for name, direction in cases:
        found: tuple[Launch, ...] = tuple(
            launch for launch in launches(parse(LAYERS[name]), direction, 4) if launch.gemm
        )
        objects = {}
        for index, source in enumerate(source_rows(found)):
            objects[source] = tmp_path / f"{name}-{direction}-{index}.o"
            flags = [
                "-x",
                "cl",
                "-target",
                "amdgcn-amd-amdhsa",
                "-mcpu=gfx801",
                "-mcode-object-version=4",
                "-O3",
            ]
            flags += [
                "-Wall",
                "-Werror",
                libraries,
                *source.arguments.split(),
            ]
            command = [clang.command[0], *flags, str(SGEMM_SOURCE), "-o", str(objects[source])]
            subprocess.run(command, check=True)
        planned = guest_run(found, device="gfx801", objects=objects)
        done = run(built(), "--check", written(planned, tmp_path))
        assert done.returncode == 0, done.stderr
