"""Matrix instructions (MFMA): operations of each, and how long it holds the matrix core of a SIMD unit.

Source of the cycles in ``matrix.csv``: the table of a later gem5 (``compute_unit.cc``, mfma_cycles; pull
requests 1700, 2039, 2802), which has the passes of AMD's manuals of MI200 and MI300, four cycles each; for
bf16 of gfx90a in fours (``_1k``) LLVM's scheduling model.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

COUNTED: Final[Mapping[str, str]] = {"f16": "f16", "bf16": "f16", "f32": "f32", "f64": "f64", "i8": "i8"}
"""Type of the factors -> the type that gem5 counts it as (``MFMA_MXFP``: 16 bits are F16)."""


class Matrices(NamedTuple):
    """D = A B + C, ``blocks`` times; ``kind`` of A and B: ``f16``; ``fp8`` for all of 8 bits."""

    rows: int
    columns: int
    depth: int
    blocks: int
    kind: str

    @property
    def operations(self) -> int:
        """Multiplications and additions of one instruction."""
        return 2 * self.rows * self.columns * self.depth * self.blocks


@cache
def _table() -> Mapping[str, Mapping[Matrices, int]]:
    """Cycles, by GPU."""
    found: dict[str, dict[Matrices, int]] = {}
    with Path(__file__).with_name("matrix.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows, columns, depth, blocks = (int(row[name]) for name in Matrices._fields[:4])
            shape = Matrices(rows, columns, depth, blocks, row["kind"])
            for gfx in ("gfx90a", "gfx942"):
                if row[gfx]:
                    found.setdefault(gfx, {})[shape] = int(row[gfx])
    return found


def matrix_cycles(gfx: str, shape: Matrices) -> int | None:
    """Cycles that an instruction holds the matrix core; None: not known."""
    return _table().get(gfx, {}).get(shape)


@cache
def matrix_peaks(gfx: str) -> Mapping[str, float]:
    """Most operations of a SIMD unit's matrix core per cycle, by the type that gem5 counts."""
    peaks: dict[str, float] = {}
    for shape, cycles in _table().get(gfx, {}).items():
        if kind := COUNTED.get(shape.kind):
            peaks[kind] = max(peaks.get(kind, 0.0), shape.operations / cycles)
    return peaks
