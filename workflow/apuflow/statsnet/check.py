"""Whether a mix represents its set: statistics, speedup over compute units, the order of machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from apuflow.statsnet.fit import Mix, scales
from apuflow.statsnet.profile import BYTES, FLOP, TOTAL, Operations, operations, replaced

COMPUTE_UNITS: Final = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
"""Where the speedup is compared."""
FITTED: Final = (1, 8, 16, 32, 48, 64)
"""Those of them whose cycles the fit is given, beside the set's own machine."""
MACHINES: Final = {
    "4 CUs": ["num-compute-units=4"],
    "16 CUs": ["num-compute-units=16"],
    "64 CUs": ["num-compute-units=64"],
    "4 CUs at 2 GHz": ["num-compute-units=4", "gpu-clock=2GHz"],
    "16 CUs, wide links": ["num-compute-units=16", "bw-scalor=1"],
    "64 CUs, wide links": ["num-compute-units=64", "bw-scalor=1"],
    "16 CUs, TCC of 1 MB": ["num-compute-units=16", "tcc-size=1MB"],
    "16 CUs, 4 TCC banks": ["num-compute-units=16", "num-tccs=4"],
    "16 CUs, DDR3-2133": ["num-compute-units=16", "mem-type=DDR3_2133_8x8"],
    "16 CUs, 256 vector registers": ["num-compute-units=16", "vreg-file-size=256"],
}
"""Machines that are put in order."""
TIE: Final = 0.01
"""Two machines whose times differ by less are in no order."""


def statistics_table(columns: pd.DataFrame, weights: pd.Series[float], mix: Mix) -> pd.DataFrame:
    """Every statistic: of the set, of the mix per iteration of the set, and the error.

    The error of a part is a share of its statistic's sum; that of a total or of a ratio, a share of itself.

    Args:
        columns: statistics of each operation. weights: how often the set runs each.
    """
    target = columns @ weights
    got = columns[mix.repeats.index] @ mix.repeats / mix.iterations
    table = pd.DataFrame({"target": target, "got": got, "error": (got - target) / scales(target)})
    if target[TOTAL, FLOP] > 0:
        ratio = {name: table[name][TOTAL, FLOP] / table[name][TOTAL, BYTES] for name in ("target", "got")}
        table.loc[("arithmetic intensity", f"{FLOP} per byte"), :] = {
            **ratio,
            "error": ratio["got"] / ratio["target"] - 1,
        }
    return table


def speedups(cycles: dict[int, pd.Series[float]], weights: pd.Series[float], mix: Mix) -> pd.DataFrame:
    """Speedup of the set and of the mix over the smallest number of compute units.

    Args:
        cycles: of each operation, run once, by compute units.
    """
    of_set = {units: float((once * weights).sum()) for units, once in cycles.items()}
    of_mix = {units: mix.weighted(once) for units, once in cycles.items()}
    first = min(cycles)
    frame = pd.DataFrame(
        {
            "target": {units: of_set[first] / spent for units, spent in of_set.items()},
            "got": {units: of_mix[first] / spent for units, spent in of_mix.items()},
        }
    )
    return frame.assign(error=frame["got"] / frame["target"] - 1).rename_axis("compute_units")


def ranking(
    names: Sequence[str],
    held_out: Sequence[str],
    settings: Sequence[str],
    mix: Mix,
    root: Path = Path(),
    *,
    equal: bool = False,
) -> pd.DataFrame:
    """Seconds on every one of ``MACHINES``: of the set, of the mix, and of suites that took no part.

    Args:
        names: of the set. held_out: of the others. settings: of the set; a machine's own replace them.
    """
    rows = {}
    for machine, options in MACHINES.items():
        here = replaced(settings, options)
        found = operations(names, here, root, equal=equal)
        once = found.seconds
        rows[machine] = {"set": float((once * found.weights).sum()), "statsnet": mix.weighted(once)}
        for other in held_out:
            apart = operations([other], here, root)
            rows[machine][other] = float((apart.seconds * apart.weights).sum())
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("machine")


def agreement(one: pd.Series[float], other: pd.Series[float]) -> tuple[int, int]:
    """How many pairs of machines two columns of ``ranking`` put into the same order.

    Returns:
        Pairs in the same order, and pairs that both columns tell apart by more than ``TIE``.
    """
    gaps = [
        np.subtract.outer(values, values) for values in (np.log(one.to_numpy()), np.log(other.to_numpy()))
    ]
    apart = np.triu((np.abs(gaps[0]) > np.log1p(TIE)) & (np.abs(gaps[1]) > np.log1p(TIE)))
    return int((apart & (gaps[0] * gaps[1] > 0)).sum()), int(apart.sum())


def cycles_over_units(
    names: Sequence[str], settings: Sequence[str], root: Path, found: Operations
) -> dict[int, pd.Series[float]]:
    """Cycles of each operation of the set, run once, by compute units."""
    return {
        units: operations(names, replaced(settings, [f"num-compute-units={units}"]), root).cycles[
            list(found.points)
        ]
        for units in COMPUTE_UNITS
    }
