"""The tiled SGEMM kernel that stands in for rocBLAS: source and arguments. Tables name it as a stand-in."""

from __future__ import annotations

from pathlib import Path

from apuflow.launcher.dispatch_list import Argument
from apuflow.miopen.launch import Gemm, Launch
from apuflow.miopen.rocm_4_0_1.gemm import TILE

PROGRAM = Path(__file__).with_name("gemm.cl")
KERNEL = "sgemm"
FLOAT_BYTES = 4


def compile_arguments(gemm: Gemm) -> str:
    """Compile arguments, in the form of MIOpen's (a leading space): only the transposes matter."""
    return f" -DTRANSPOSE_A={int(gemm.transpose_a)} -DTRANSPOSE_B={int(gemm.transpose_b)} -DTILE={TILE}"


def arguments(launch: Launch) -> tuple[Argument, ...]:
    """Kernel arguments of a rocBLAS launch: A, B and C are its first three buffers."""
    gemm = launch.gemm
    assert gemm is not None
    offsets = (gemm.offset_a, gemm.offset_b, gemm.offset_c)
    buffers = (
        Argument("buffer", str(arg.value), FLOAT_BYTES * offset)
        for arg, offset in zip(launch.args[:3], offsets, strict=True)
    )
    return (
        *buffers,
        *(Argument("int", value) for value in (gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.ldc)),
        *(Argument("long", value) for value in (gemm.stride_a, gemm.stride_b, gemm.stride_c)),
        *(Argument("float", value) for value in (gemm.alpha, gemm.beta)),
    )
