"""From launches to guest processes, and the stand-in for rocBLAS."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Literal

import pytest
from launcher_layers import HEAD, LAYERS
from launcher_tools import built, code_object, played, run

from apuflow.dnnmark import parse
from apuflow.errors import ConfigError, EngineError
from apuflow.launcher import gemm
from apuflow.launcher.plan import GuestRun, guest_runs, kernel_source, kernel_sources
from apuflow.miopen import Launch, Row, launches
from apuflow.miopen.compiler import Compiler


def plan(
    name: str,
    direction: Literal["fwd", "bwd"],
    directory: Path,
    *,
    together: bool = False,
    outputs: bool = False,
    data_bytes: int = 0,
) -> tuple[GuestRun, ...]:
    found = launches(parse(LAYERS[name]), direction, 4)
    return guest_runs(
        found,
        device="gfx801",
        launcher=directory / "launcher",
        objects={source: directory / f"{i}.o" for i, source in enumerate(kernel_sources(found))},
        directory=directory,
        data=directory / "data.bin" if data_bytes else None,
        data_bytes=data_bytes,
        together=together,
        outputs=outputs,
    )


@pytest.mark.parametrize(
    ("m", "n", "batch", "grid"),
    [
        (1, 1, 1, (16, 16, 1)),
        (16, 32, 1, (16, 32, 1)),
        (4096, 100, 1, (4096, 112, 1)),
        (17, 15, 3, (32, 16, 3)),
    ],
)
def test_gemm_geometry(m: int, n: int, batch: int, grid: tuple[int, int, int]) -> None:
    assert gemm.geometry(m, n, batch) == (grid, (16, 16, 1))


def test_gemm_of_nothing() -> None:
    with pytest.raises(ConfigError, match="size 0"):
        gemm.geometry(16, 0, 1)


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("name", ["fc", "conv", "conv1x1"])
def test_gemm_geometry_is_what_launches_say(name: str, direction: Literal["fwd", "bwd"]) -> None:
    products = [launch for launch in launches(parse(LAYERS[name]), direction, 4) if launch.gemm]
    assert products
    for launch in products:
        assert launch.gemm is not None
        assert (launch.grid, launch.workgroup) == gemm.geometry(
            launch.gemm.m, launch.gemm.n, launch.gemm.batch
        )
        assert launch.kernel == gemm.KERNEL
        assert "stand-in for rocBLAS" in launch.note


def test_gemm_arguments() -> None:
    """Fully connected, 20 inputs, 7 outputs, batch 3: y(7x3) = w'(7x20) x(20x3), column major."""
    [launch] = launches(parse(LAYERS["fc"]), "fwd", 4)
    assert [argument.line() for argument in gemm.arguments(launch)] == [
        "arg buffer layer.weights",
        "arg buffer layer.bottom",
        "arg buffer layer.top",
        *(f"arg u32 {value:#x}" for value in (7, 3, 20, 20, 20, 7)),
        *(["arg u64 0x0"] * 3),
        "arg u32 0x3f800000",
        "arg u32 0x0",
    ]
    assert kernel_source(launch) == Row("gemm.cl", " -DTRANSPOSE_A=1 -DTRANSPOSE_B=0 -DTILE=16")


def test_gemm_arguments_of_a_transposed_product() -> None:
    """dw(20x7) = x(20x3) dy'(3x7): leading dimensions 20, 7, 20. A batch takes strides."""
    first = launches(parse(LAYERS["fc"]), "bwd", 4)[0]
    lines = [argument.line() for argument in gemm.arguments(first)]
    assert lines[3:9] == [f"arg u32 {value:#x}" for value in (20, 7, 3, 20, 7, 20)]
    assert kernel_source(first).arguments == " -DTRANSPOSE_A=0 -DTRANSPOSE_B=1 -DTILE=16"
    batched = launches(parse(LAYERS["conv1x1"]), "fwd", 4)[0]
    strides = [argument.line() for argument in gemm.arguments(batched)][9:12]
    assert strides == ["arg u64 0x90", "arg u64 0x0", "arg u64 0xc0"]  # 3 and 4 channels of 6 x 8 pixels


def test_apart_runs_each_distinct_launch_once(tmp_path: Path) -> None:
    """Convolution backward: set-tensor, 2 x (im2col, product), 2 x (product, col2im)."""
    runs = plan("conv", "bwd", tmp_path)
    assert [(one.launches[0].kernel, one.counts) for one in runs] == [
        ("SubTensorOpWithScalar1d", (1,)),
        ("Im2d2Col", (2,)),
        ("sgemm", (2,)),
        ("sgemm", (2,)),
        ("Col2Im2d", (2,)),
    ]
    assert len({one.list_file for one in runs}) == 5
    for one in runs:
        assert one.end_marker == "apuflow-launcher: 1 of 1 dispatches done"
        assert not one.contents.per_dispatch_statistics


def test_together_unrolls_loops_on_shared_buffers(tmp_path: Path) -> None:
    [run] = plan("conv", "bwd", tmp_path, together=True, outputs=True)
    assert [launch.kernel for launch in run.launches] == [
        "SubTensorOpWithScalar1d",
        *("Im2d2Col", "sgemm") * 2,
        *("sgemm", "Col2Im2d") * 2,
    ]
    assert run.end_marker == "apuflow-launcher: 9 of 9 dispatches done"
    assert run.contents.per_dispatch_statistics
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
    [run] = plan("softmax", "bwd", tmp_path, data_bytes=4096)
    assert [buffer.line() for buffer in run.contents.buffers] == [
        "buffer b0 960 file 0",
        "buffer b1 960 file 0",
        "buffer b2 960 touch",
    ]
    [run] = plan("softmax", "bwd", tmp_path, data_bytes=8192)
    assert run.contents.buffers[1].line() == "buffer b1 960 file 4096"
    assert tmp_path / "data.bin" in run.inputs
    with pytest.raises(ConfigError, match="smaller than a buffer"):
        plan("softmax", "bwd", tmp_path, data_bytes=959)


def test_mask_of_maximum_pooling_stays_inside_the_window(tmp_path: Path) -> None:
    [run] = plan("pool_max", "bwd", tmp_path, data_bytes=1 << 20)
    assert [buffer.contents.kind for buffer in run.contents.buffers] == ["file", "touch", "modulo"]
    assert run.contents.buffers[2].contents.parameters[1] == 9
    assert run.contents.buffers[2].size == 2 * 3 * 5 * 6  # bytes


def test_layer_without_kernels() -> None:
    text = f"{HEAD}[Dropout]\nname=d\nn=1\nc=4\nh=1\nw=1\nprevious_layer=null\ndropout_probability=.5\n"
    with pytest.raises(ConfigError, match="launches no GPU kernel"):
        guest_runs(
            launches(parse(text), "fwd", 4),
            device="gfx801",
            launcher=Path("l"),
            objects={},
            directory=Path("d"),
        )


def test_command_and_files(tmp_path: Path) -> None:
    [run] = plan("relu", "fwd", tmp_path, outputs=True)
    program, options = run.command
    assert program == str(tmp_path / "launcher")
    assert options.endswith("/000-MIOpenActiveFwdLite/dispatch.list")
    run.write()
    assert run.list_file.read_text() == run.contents.text()
    assert run.outputs[0].path.parent == run.list_file.parent
    assert run.memory_bytes >= 2 * 4 * 2 * 3 * 5 * 7


def test_verify_runs_the_guest_here(tmp_path: Path) -> None:
    [run] = plan("bypass", "fwd", tmp_path)
    run.write()
    shutil.copy(built(), run.launcher)
    (tmp_path / "0.o").write_bytes(code_object("MIOpenActiveFwdLite", kernarg=48))
    run.verify()
    (tmp_path / "0.o").write_bytes(code_object("MIOpenActiveFwdLite", kernarg=40))
    with pytest.raises(EngineError, match="takes 40 bytes of arguments, the list gives 48"):
        run.verify()


def test_packing_by_hand(tmp_path: Path) -> None:
    """bn forward takes pointer, 2 uint, 3 pointers, double, 2 pointers, double, 2 pointers: 96 bytes."""
    [planned] = plan("bn", "fwd", tmp_path)
    (tmp_path / "0.o").write_bytes(code_object("MIOpenBatchNormFwdTrainPerActivation", kernarg=96))
    planned.write()
    done = run(played(), planned.list_file, trace=tmp_path / "trace", idle=True)
    assert done.returncode == 0, done.stderr
    arguments = (tmp_path / "trace").read_bytes()[8 + 64 + 256 + 256 :]
    assert len(arguments) == 96
    assert arguments[8:16] == bytes.fromhex("30000000 10000000")  # 48 and 16
    assert arguments[40:48] == bytes.fromhex("000000000000e03f")  # 0.5
    assert arguments[64:72] == bytes.fromhex("f168e388b5f8e43e")  # 1e-5


def test_stand_in_compiles_and_takes_these_arguments(clang: Compiler, tmp_path: Path) -> None:
    """The compiler's own layout of sgemm's arguments holds what we pass, on every transpose."""
    [libraries] = [word for word in clang.command if word.startswith("--rocm-device-lib-path=")]
    for name, direction in (("fc", "fwd"), ("fc", "bwd"), ("conv", "fwd"), ("conv", "bwd")):
        found: tuple[Launch, ...] = tuple(
            launch
            for launch in launches(parse(LAYERS[name]), direction, 4)
            if launch.gemm  # type: ignore[arg-type]
        )
        objects = {}
        for index, source in enumerate(kernel_sources(found)):
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
            command = [clang.command[0], *flags, str(gemm.PROGRAM), "-o", str(objects[source])]
            subprocess.run(command, check=True)
        for planned in guest_runs(
            found, device="gfx801", launcher=built(), objects=objects, directory=tmp_path / name
        ):
            planned.write()
            planned.verify()
