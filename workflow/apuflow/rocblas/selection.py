"""rocBLAS' kernel for a product: that of the nearest size that AMD measured.

Source: Tensile rocm-4.0.0, ``PropertyMatching.hpp`` (``findBestKeyMatch_BinSearch``), ``Distance.hpp``
(``EuclideanDistance``), ``Contractions.py`` and ``ContractionProblemPredicates.hpp`` (a kernel's
requirements).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from apuflow.miopen.launch import Gemm
from apuflow.rocblas.tables import GPUS, Measured, Solution, measured, solutions

BUFFER_BYTES = 1 << 32
"""Range of a buffer instruction."""
FLOAT_BYTES = 4


class Choice(NamedTuple):
    """The kernel of a product, or the reason why rocBLAS has none."""

    solution: Solution | None
    reason: str = ""


def transposes(gemm: Gemm) -> str:
    """Of A and B, as tables name them: "NN", "NT", "TN" or "TT"."""
    return "NT"[gemm.transpose_a] + "NT"[gemm.transpose_b]


@lru_cache(maxsize=65536)
def select(gemm: Gemm, gfx: str) -> Choice:
    """The kernel that rocBLAS picks, independent of batch, alpha and beta.

    Args:
        gfx: GPU architecture; gfx801, for which rocBLAS has no kernels, gets gfx803's choice.
    """
    problem = transposes(gemm)
    if gfx not in GPUS:
        return Choice(None, f"rocBLAS' gfx803 kernels do not run on {gfx}")
    if not measured(problem):
        return Choice(None, f"rocBLAS has no tuned gfx803 kernel for {problem}, it runs a generic HIP kernel")
    best = nearest(gemm)
    if best is None:
        return Choice(None, "no tuned gfx803 kernel of rocBLAS reaches across matrices as large as these")
    return Choice(solutions()[problem, best.solution])


@lru_cache(maxsize=65536)
def nearest(gemm: Gemm) -> Measured | None:
    """The measured size whose kernel a product takes; None if no kernel can compute it.

    Tensile searches from the size's place in the table to the right, then to the left. Each direction ends
    when m alone is as far as the best distance; of equal distances the faster kernel wins.
    """
    table = measured(transposes(gemm))
    key = gemm.m, gemm.n, gemm.k
    start = bisect_left(table, key, key=lambda row: row.key)
    best: Measured | None = None
    distance = float("inf")
    ways: tuple[Iterable[Measured], ...] = (table[start:], reversed(table[:start]))
    for way in ways:
        for row in way:
            if best is not None and (gemm.m - row.m) ** 2 >= distance and row.key != key:
                break
            here = sum((a - b) ** 2 for a, b in zip(key, row.key, strict=True))
            nearer = here < distance or (best is not None and here == distance and row.gflops > best.gflops)
            if nearer and _takes(solutions()[row.transposes, row.solution], gemm):
                best, distance = row, here
    return best


def _takes(solution: Solution, gemm: Gemm) -> bool:
    """Whether a kernel can compute a product: vector loads fit into a row, offsets into 32 bits."""
    along_m, along_n = not gemm.transpose_a, gemm.transpose_b  # the operand lies in memory along m, n
    wide_a = solution.load_width_a if along_m else 1
    wide_b = solution.load_width_b if along_n else 1
    if gemm.m < wide_a or gemm.n < wide_b:
        return False
    steps_a = solution.depth_u if along_m else solution.macro_tile_m
    steps_b = solution.depth_u if along_n else solution.macro_tile_n
    reach_a = gemm.lda * steps_a + (wide_a if wide_a > 1 else 0)
    reach_b = gemm.ldb * steps_b + (wide_b if wide_b > 1 else 0)
    return max(reach_a, reach_b, gemm.lda * solution.macro_tile_n) * FLOAT_BYTES < BUFFER_BYTES
