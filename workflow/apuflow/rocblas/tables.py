"""rocBLAS' tuned single precision kernels for gfx803, and AMD's measurements of them on an R9 Nano.

``solutions.csv``: all 211 kernels of ``library/src/blas3/Tensile/Logic/asm_full/r9nano_Cijk_*_SB.yaml`` of
rocBLAS, with the parameters that Tensile derives for them, registers and LDS as Tensile writes them. Kernels
that split the sum have the registers of the form without buffer stores (see ``changes``).
``measured.csv``: the same files' ``exactLogic``, the table from which rocBLAS takes a product's kernel. Both
for the commits below.

A product takes the kernel of the nearest size that AMD measured. Source: Tensile rocm-4.0.0,
``PropertyMatching.hpp`` (``findBestKeyMatch_BinSearch``), ``Distance.hpp`` (``EuclideanDistance``),
``Contractions.py`` and ``ContractionProblemPredicates.hpp`` (a kernel's requirements).
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from apuflow.core import gpus
from apuflow.core.gpus import GCN3
from apuflow.miopen.launch import Gemm

Products: TypeAlias = Literal["stand-in", "rocblas"]
"""What runs for a call of rocBLAS: this project's stand-in, or rocBLAS' own kernels."""

RELEASE: Final = "rocm-4.0.0"
ROCBLAS_URL: Final = "https://github.com/ROCm/rocBLAS.git"
ROCBLAS_COMMIT: Final = "cc18d25f9ea133eca1a2976188f659bdc34a2253"
TENSILE_URL: Final = "https://github.com/ROCm/Tensile.git"
TENSILE_COMMIT: Final = "ab44bf46b609b5a40053f310bef2ab7511f726ae"
"""From ``tensile_tag.txt`` of that rocBLAS."""

BUILT_FOR: Final = "gfx803"
GPUS: Final = (
    BUILT_FOR,
    *(gpu.name for gpu in gpus.GPUS.values() if gpu.isa == GCN3 and gpu.name != BUILT_FOR),
)
"""GPUs that execute the kernels: their own, and others with the same instructions."""

LOGIC: Final[Mapping[str, str]] = {
    "NN": "Cijk_Ailk_Bljk_SB",
    "NT": "Cijk_Ailk_Bjlk_SB",
    "TN": "Cijk_Alik_Bljk_SB",
    "TT": "Cijk_Alik_Bjlk_SB",
}
"""By transposes of A and B, rocBLAS' name of the problem."""


BUFFER_BYTES: Final = 1 << 32
"""Range of a buffer instruction."""
FLOAT_BYTES: Final = 4


class Solution(NamedTuple):
    """A kernel of rocBLAS, by Tensile's parameters.

    Attributes:
        transposes: of A and B, such as "NT".
        number: its place in rocBLAS' file of that problem.
        macro_tile_m, macro_tile_n: elements of C that a workgroup computes, along m and n.
        depth_u: elements of k per step.
        threads: work-items of a workgroup.
        local_split_u: parts of a workgroup that share a sum.
        global_split_u: workgroups that share a sum.
        workgroup_mapping: tiles along n in a group.
        stagger_u, stagger_stride_shift: distance of workgroups' starts in k.
        load_width_a, load_width_b: elements that a load of A and B fetches.
        lds_bytes, vgprs, sgprs: of a workgroup and of a wavefront.
        row_offsets: whether it loads rows at a scalar offset (1 or 0).
    """

    transposes: str
    number: int
    kernel: str
    macro_tile_m: int
    macro_tile_n: int
    depth_u: int
    threads: int
    local_split_u: int
    global_split_u: int
    workgroup_mapping: int
    stagger_u: int
    stagger_stride_shift: int
    load_width_a: int
    load_width_b: int
    lds_bytes: int
    vgprs: int
    sgprs: int
    row_offsets: int

    @property
    def splits(self) -> bool:
        """Whether several workgroups add to the same element of C."""
        return self.global_split_u > 1

    @property
    def stores_pairs(self) -> bool:
        """Whether it stores two elements of C at a time; from the assembly of all 211 kernels."""
        return "_VW2_" in self.kernel and not self.splits and self.local_split_u == 1


class Measured(NamedTuple):
    """A size that AMD measured on an R9 Nano, and its fastest kernel."""

    transposes: str
    m: int
    n: int
    k: int
    solution: int
    gflops: float

    @property
    def key(self) -> tuple[int, int, int]:
        """The values that a product is compared with."""
        return self.m, self.n, self.k


@cache
def solutions() -> Mapping[tuple[str, int], Solution]:
    """All kernels by transposes and number."""
    every = [
        Solution(row["transposes"], int(row["number"]), row["kernel"], *map(int, list(row.values())[3:]))
        for row in _rows("solutions.csv")
    ]
    return {(one.transposes, one.number): one for one in every}


@cache
def solution_of(kernel: str) -> Solution | None:
    """The solution of a kernel's name; None if it is not rocBLAS'."""
    return next((one for one in solutions().values() if one.kernel == kernel), None)


@cache
def measured(transposes: str) -> tuple[Measured, ...]:
    """The measured sizes of a problem in the order of Tensile's table: by m, n, k."""
    rows = []
    for row in _rows("measured.csv"):
        if row["transposes"] == transposes:
            m, n, k, solution = (int(row[name]) for name in ("m", "n", "k", "solution"))
            rows.append(Measured(transposes, m, n, k, solution, float(row["gflops_measured"])))
    return tuple(sorted(rows, key=lambda row: row.key))


def _rows(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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
