"""rocBLAS' launches of a product: the kernel with its 140 bytes of arguments, and a scaling before it.

Source: Tensile rocm-4.0.0, ``ContractionSolution.cpp`` (``generateSingleCall``, ``generateBetaOnlyCall``,
``staggerUIter``, ``smallMagicNumber``), ``ContractionProblem.cpp`` (``allocatedElementsNonBatchA``); rocBLAS
rocm-4.0.0, ``tensile_host.cpp``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from apuflow.core.products import SCALE, SCALE_NOTE
from apuflow.miopen.launch import Arg, Gemm, Launch, Role
from apuflow.rocblas.changes import CHANGES_VERSION, changes_of
from apuflow.rocblas.tables import (
    FLOAT_BYTES,
    GPUS,
    RELEASE,
    ROCBLAS_COMMIT,
    TENSILE_COMMIT,
    Products,
    Solution,
    select,
    solution_of,
)

SCALE_SOURCE: Final = Path(__file__).with_name("rocblas_scale.cl")
SCALE_GROUP: Final = 256

ASSEMBLY: Final = ".s"
"""Suffix of the programs of rocBLAS' kernels."""


def library_launches(launches: Iterable[Launch], gfx: str) -> tuple[Launch, ...]:
    """The launches, with rocBLAS' own kernel for each product that has one on this GPU."""
    return tuple(
        one for launch in launches for one in ((launch,) if launch.gemm is None else _calls(launch, gfx))
    )


def library_versions(products: Products, gfx: str) -> dict[str, str] | None:
    """Versions of the sources of rocBLAS' kernels for a GPU; None if the stand-in runs."""
    if products == "stand-in" or gfx not in GPUS:
        return None
    return {"rocblas": ROCBLAS_COMMIT, "tensile": TENSILE_COMMIT, "changes": CHANGES_VERSION}


def library_of(launch: Launch, gfx: str) -> str:
    """The library of a launch of :func:`library_launches`; "" if it is not rocBLAS'."""
    if solution_of(launch.kernel) is None:
        return ""
    return f"rocBLAS {RELEASE}" + ("" if gfx == "gfx803" else f", gfx803 kernel assembled for {gfx}")


def changed(launch: Launch, gfx: str) -> str:
    """Changes of a launch's kernel against rocBLAS, with reasons, as text; "" if there are none."""
    solution = solution_of(launch.kernel)
    if solution is None:
        return ""
    found = changes_of(solution.splits, bool(solution.row_offsets), solution.stores_pairs, gfx)
    return "; ".join(map(str, found))


@functools.lru_cache(maxsize=65536)
def _calls(launch: Launch, gfx: str) -> tuple[Launch, ...]:
    assert launch.gemm is not None
    gemm = launch.gemm if launch.gemm.alpha else launch.gemm._replace(k=0)  # as tensile_host.cpp does
    if gemm.k == 0 and gemm.beta == 1.0:
        return ()
    solution, reason = select(gemm, gfx)
    if solution is None:
        return (replace(launch, note=f"{launch.note}; {reason}"),)
    if not solution.splits:
        return (product_launch(launch, gemm, solution, launch.args[2].role),)
    if launch.count > 1 and not launch.loop:
        raise AssertionError("a repeated product needs the number of its loop")
    return scale_launch(launch, gemm), product_launch(
        launch, gemm._replace(beta=1.0), solution, "inout", gemm.beta
    )


def product_launch(
    launch: Launch, gemm: Gemm, solution: Solution, role: Role, beta: float | None = None
) -> Launch:
    """The launch of a kernel for ``gemm``; ``beta`` is its argument if it differs from ``gemm``'s."""
    a, b, c = launch.args[:3]
    stored_a = (gemm.k, gemm.m) if gemm.transpose_a else (gemm.m, gemm.k)
    stored_b = (gemm.n, gemm.k) if gemm.transpose_b else (gemm.k, gemm.n)
    sizes = {
        "size_c": _extent((gemm.m, gemm.n), gemm.ldc) + (gemm.batch - 1) * gemm.stride_c,
        "size_a": _extent(stored_a, gemm.lda),
        "size_b": _extent(stored_b, gemm.ldb),
    }
    strides = {"stride_d1": gemm.ldc, "stride_d2": gemm.stride_c, "stride_c1": gemm.ldc}
    strides |= {"stride_c2": gemm.stride_c, "stride_a1": gemm.lda, "stride_a2": gemm.stride_a}
    strides |= {"stride_b1": gemm.ldb, "stride_b2": gemm.stride_b}
    tiles_m, tiles_n = -(-gemm.m // solution.macro_tile_m), -(-gemm.n // solution.macro_tile_n)
    full, rest = divmod(tiles_n, solution.workgroup_mapping)
    rest = rest or solution.workgroup_mapping
    args = (
        *(Arg("long", value, name=name) for name, value in sizes.items()),
        *(_buffer(name, c, gemm.offset_c, gemm.step_c, role) for name in ("D", "C")),
        _buffer("A", a, gemm.offset_a, gemm.step_a, a.role),
        _buffer("B", b, gemm.offset_b, gemm.step_b, b.role),
        Arg("float", gemm.alpha, name="alpha"),
        Arg("float", gemm.beta if beta is None else beta, name="beta"),
        *_uints(**strides, m=gemm.m, n=gemm.n, batch=gemm.batch, k=gemm.k),
        Arg("int", stagger(gemm.k, solution), name="stagger_u_iter"),
        *_uints(tiles_m=tiles_m, tiles_n=tiles_n, full_blocks=full, rest=rest),
        *_uints(magic_of_rest=(1 << 31) // rest + 1, pad=0),
    )
    return replace(
        launch,
        program=solution.kernel + ASSEMBLY,
        arguments="",
        kernel=solution.kernel,
        grid=(tiles_m * solution.threads, tiles_n * solution.global_split_u, gemm.batch),
        workgroup=(solution.threads, 1, 1),
        args=args,
        note="",
        gemm=gemm,
    )


def stagger(k: int, solution: Solution) -> int:
    """Distance of workgroups' starts along k in steps, less one; smaller if k has few steps."""
    steps = k // solution.depth_u // solution.global_split_u
    apart = solution.stagger_u
    while apart > 1 and steps < apart << solution.stagger_stride_shift:
        apart //= 2
    return max(0, apart - 1)


def scale_launch(launch: Launch, gemm: Gemm) -> Launch:
    """The launch that multiplies C by beta before several workgroups add to its elements."""
    c = launch.args[2]
    strides = (0 if gemm.n == 1 else gemm.ldc, 0 if gemm.batch == 1 else gemm.stride_c)
    args = (
        *(_buffer(name, c, gemm.offset_c, gemm.step_c, c.role) for name in ("D", "C")),
        *_uints(stride_d1=strides[0], stride_d2=strides[1], stride_c1=strides[0], stride_c2=strides[1]),
        *_uints(m=gemm.m, n=gemm.n, batch=gemm.batch),
        Arg("float", gemm.beta, name="beta"),
    )
    items = -(-gemm.m * gemm.n * gemm.batch // SCALE_GROUP) * SCALE_GROUP
    return replace(
        launch,
        program=SCALE_SOURCE.name,
        arguments="",
        kernel=SCALE,
        grid=(items, 1, 1),
        workgroup=(SCALE_GROUP, 1, 1),
        args=args,
        note=SCALE_NOTE,
        gemm=None,
    )


def _extent(shape: tuple[int, int], leading: int) -> int:
    """Elements from the first to the last of a column-major matrix."""
    return 1 + (shape[0] - 1) + (shape[1] - 1) * leading


def _buffer(name: str, memory: Arg, offset: int, step: int, role: Role) -> Arg:
    offset, step = memory.offset + FLOAT_BYTES * offset, FLOAT_BYTES * step
    return memory._replace(name=name, role=role, offset=offset, step=step)


def _uints(**values: int) -> tuple[Arg, ...]:
    return tuple(Arg("uint", value, name=name) for name, value in values.items())
