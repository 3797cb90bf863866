"""Whose kernels compute matrix products: what rows of tables, points and launches say of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ROCBLAS: Final = "rocBLAS"
"""rocBLAS' own kernels."""
STAND_IN: Final = "stand-in"
"""The tiled kernel of this project (``launcher/gemm.cl``)."""
BOTH: Final = f"{ROCBLAS} + {STAND_IN}"
STAND_IN_NOTE: Final = "stand-in for rocBLAS: "
"""How the note of a launch (``stand_in`` in a record) begins whose product the stand-in computes."""
SCALE: Final = "Cijk_S"
"""rocBLAS' kernel that scales C, or clears it, before workgroups add to it."""
SCALE_NOTE: Final = f"stand-in for rocBLAS' HIP kernel {SCALE}: one work-item per element of C"
TITLES: Final = {ROCBLAS: "rocBLAS' own kernels", STAND_IN: "this project's stand-in"}


def joined(kinds: Iterable[object]) -> str:
    """Several values of a column ``products`` as one: "" for none, :data:`BOTH` where they differ."""
    found = {part for kind in kinds if isinstance(kind, str) for part in kind.split(" + ") if part}
    return " + ".join(kind for kind in (ROCBLAS, STAND_IN) if kind in found)


def of_launches(launches: Iterable[tuple[str | None, str | None]]) -> str:
    """A column ``products`` of launches, of each of which ``stand_in`` and ``library`` are given."""
    return joined(
        ROCBLAS if library else STAND_IN if (note or "").startswith(STAND_IN_NOTE) else ""
        for note, library in launches
    )


def stands_in(text: object) -> bool:
    """Whether a value of column ``stand_in`` names more than the kernel that scales C for rocBLAS' own."""
    return isinstance(text, str) and bool(text.replace(f"{SCALE}: {SCALE_NOTE}", "").strip("; "))


def title(products: str) -> str:
    """A value of a column ``products`` in words."""
    return " and ".join(TITLES.get(part, part) for part in products.split(" + "))
