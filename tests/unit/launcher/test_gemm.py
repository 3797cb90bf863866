"""Matrix products that stand in for rocBLAS's."""

from __future__ import annotations

import pytest
from launcher_layers import LAYERS

from apuflow.dnnmark import parse
from apuflow.launcher.plan import arguments_of, kernel_source
from apuflow.miopen import Row, launches
from apuflow.miopen.rocm_4_0_1.gemm import stand_in


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
    assert stand_in(m, n, batch) == (grid, (16, 16, 1))


def test_gemm_arguments() -> None:
    """Fully connected, 20 inputs, 7 outputs, batch 3: y(7x3) = w'(7x20) x(20x3), column major."""
    [launch] = launches(parse(LAYERS["fc"]), "fwd", 4)
    assert [argument.line() for argument in arguments_of(launch)] == [
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
    lines = [argument.line() for argument in arguments_of(first)]
    assert lines[3:9] == [f"arg u32 {value:#x}" for value in (20, 7, 3, 20, 7, 20)]
    assert kernel_source(first).arguments == " -DTRANSPOSE_A=0 -DTRANSPOSE_B=1 -DTILE=16"
    batched = launches(parse(LAYERS["conv1x1"]), "fwd", 4)[0]
    strides = [argument.line() for argument in arguments_of(batched)][9:12]
    assert strides == ["arg u64 0x90", "arg u64 0x0", "arg u64 0xc0"]  # 3 and 4 channels of 6 x 8 pixels
