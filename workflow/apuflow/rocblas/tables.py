"""rocBLAS' tuned single precision kernels for gfx803, and AMD's measurements of them on an R9 Nano.

``solutions.csv``: all 211 kernels of ``library/src/blas3/Tensile/Logic/asm_full/r9nano_Cijk_*_SB.yaml`` of
rocBLAS, with the parameters that Tensile derives for them, registers and LDS as Tensile writes them. Kernels
that split the sum have the registers of the form without buffer stores (see ``changes``).
``measured.csv``: the same files' ``exactLogic``, the table from which rocBLAS takes a product's kernel. Both
for the commits below.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from apuflow.core import gpus
from apuflow.core.gpus import GCN3

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


class Solution(NamedTuple):
    """A kernel of rocBLAS, by Tensile's parameters.

    Attributes:
        transposes: of A and B, such as "NT".
        number: its place in rocBLAS' file of that problem.
        kernel: its name.
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
    return _by_kernel().get(kernel)


@cache
def _by_kernel() -> Mapping[str, Solution]:
    return {one.kernel: one for one in solutions().values()}


@cache
def measured(transposes: str) -> tuple[Measured, ...]:
    """The measured sizes of a problem in the order of Tensile's table: by m, n, k."""
    rows = [
        Measured(
            row["transposes"],
            int(row["m"]),
            int(row["n"]),
            int(row["k"]),
            int(row["solution"]),
            float(row["gflops_measured"]),
        )
        for row in _rows("measured.csv")
        if row["transposes"] == transposes
    ]
    return tuple(sorted(rows, key=lambda row: row.key))


def _rows(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
