"""The preview's constants of a gem5 release, fitted to runs of it (``apuflow calibrate``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core.errors import ConfigError
from apuflow.core.preview_constants import BOUNDS, RECORDED, Constants
from apuflow.core.words import many
from apuflow.study.score import Modelled, held_out, modelled

FEWEST: Final = 12
"""Runs to fit to. Below that, single odd runs move the constants."""
FEWEST_HELD_OUT: Final = 5
NEEDED: Final = 0.9
"""Of the error on runs that were held out, what may be left for fitted constants to be taken: with less to
gain they follow the scatter of single runs (two runs of one point differ by 0.4 to 7 %)."""
TIE: Final = 0.02
"""How strongly a constant is held where it is in v23.0: as one run that is off by so much at a bound."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """Mean error of GPU cycles, absolute, relative: with the constants of v23.0 and with others."""

    before: float
    after: float


@dataclass(frozen=True)
class Fit:
    """What came of a calibration.

    Attributes:
        constants: those to use: fitted ones, or v23.0's where the fitted ones were not clearly better on the
            runs that were held out.
        kept: whether they are v23.0's.
        fitted, held_out: errors of both groups of runs.
        runs: names of all of them.
    """

    constants: Constants
    kept: bool
    fitted: Errors
    held_out: Errors
    runs: tuple[str, ...]


def calibrate(frame: pd.DataFrame) -> Fit:
    """Fit the constants to runs, leaving aside a third of them by the hash of their names.

    Args:
        frame: a row for each run of one kernel, as ``score.read_runs`` gives them; ``point`` or ``id`` names
            it. Of runs of several kernels the first is taken: the model starts each kernel cold.

    Raises:
        ConfigError: too few runs.
    """
    if "launch" in frame.columns and "point" in frame.columns:
        later = pd.to_numeric(frame["launch"], errors="coerce").fillna(0) > 0
        frame = frame[~(later & frame["point"].notna())]
    known = modelled(frame.reset_index(drop=True))
    names = [_name(row) for row in known.frame.to_dict("records")]
    aside = np.array([held_out(name) for name in names], dtype=bool)
    _enough(aside, known.refused)
    chosen, judged = known.part(~aside), known.part(aside)
    found = _fitted(chosen)
    after = _mean(judged, found)
    before = _mean(judged, RECORDED.constants)
    kept = after > NEEDED * before
    constants = RECORDED.constants if kept else found
    return Fit(
        constants,
        kept,
        Errors(_mean(chosen, RECORDED.constants), _mean(chosen, constants)),
        Errors(before, before if kept else after),
        tuple(names),
    )


def _name(row: dict[Any, Any]) -> str:
    point = row.get("point")
    if isinstance(point, str):
        return f"{row['primitive']}/{point}"
    return str(row.get("id"))


def _enough(aside: NDArray[np.bool_], refused: Any) -> None:
    fitted, judged = int((~aside).sum()), int(aside.sum())
    if fitted >= FEWEST and judged >= FEWEST_HELD_OUT:
        return
    reasons = "; ".join(f"{reason} ({many(count, 'run')})" for reason, count in refused.items())
    raise ConfigError(
        f"too few runs to fit to: {fitted}, and {judged} to judge by (the choice follows from their names)",
        value=reasons or None,
        remedy=f"at least {FEWEST} and {FEWEST_HELD_OUT}: sweep calibration has enough",
    )


def _logarithms(known: Modelled, constants: Constants) -> Array:
    """Of predicted over measured cycles."""
    measured = pd.to_numeric(known.frame["gpu_cycles"]).to_numpy(dtype=float)
    found: Array = np.log(known.predicted(replace(RECORDED, constants=constants))[0] / measured)
    return found


def _mean(known: Modelled, constants: Constants) -> float:
    return float(np.abs(np.expm1(_logarithms(known, constants))).mean())


def _fitted(known: Modelled) -> Constants:
    """The constants with the smallest errors; large errors, which the model does not explain, count less."""
    from scipy.optimize import least_squares

    low, high = (np.array(ends) for ends in zip(*BOUNDS.values(), strict=True))
    start = np.array(astuple(RECORDED.constants))
    size = high - low

    def residuals(x: Array) -> Array:
        errors = _logarithms(known, _constants(low + x * size))
        return np.concatenate([errors, TIE * (x - (start - low) / size)])

    first = np.clip((start - low) / size, 0.01, 0.99)
    result = least_squares(residuals, first, bounds=(0.0, 1.0), loss="soft_l1", f_scale=0.1, diff_step=0.01)
    return _constants(low + result.x * size)


def _constants(values: Sequence[float] | Array) -> Constants:
    return Constants(*(round(float(value), 2) for value in values))
