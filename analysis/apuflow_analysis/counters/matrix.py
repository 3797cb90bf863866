"""Operations of matrix instructions: gem5 counts active lanes by type, a kernel's code says what one does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

LANES: Final = 64
COLUMNS: Final[Mapping[str, str]] = {
    **{kind: f"matrix_flops_{kind}" for kind in ("f16", "f32", "f64")},
    "i8": "matrix_ops_i8",
}
"""Counter of operations, by type of the factors as gem5 counts it."""


def operations(counted: Mapping[str, float], code: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """The counters of what matrix instructions do, and ``flops`` with it.

    Args:
        counted: counters of one launch; gem5's own ``flops`` has a matrix instruction's lanes once.
        code: by type: operations and cycles of an instruction (``matrix`` of the launch's record).

    Returns:
        NaN where instructions of a type ran that ``code`` does not have.
    """
    numbers = dict.fromkeys([*COLUMNS.values(), "matrix_cycles"], 0.0)
    for kind, column in COLUMNS.items():
        if lanes := counted[f"matrix_lanes_{kind}"]:
            each, cycles = code.get(kind, (math.nan, math.nan))
            numbers[column] = lanes / LANES * each
            numbers["matrix_cycles"] += lanes / LANES * cycles
    floats = [kind for kind in COLUMNS if kind != "i8"]
    if any(counted[f"matrix_lanes_{kind}"] for kind in floats):
        parts = [counted[f"vector_flops_{kind}"] + numbers[COLUMNS[kind]] for kind in floats]
        numbers["flops"] = sum(parts)
    return numbers
