"""Compute every metric of a table of counters, and flag what lies outside its range."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd

from analysis.counters.table import NAMES as COUNTER_NAMES
from analysis.metrics.metric import QUANTITIES, Metric
from analysis.metrics.paper import PAPER
from analysis.metrics.standard import STANDARD, TIME
from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz

METRICS: tuple[Metric, ...] = TIME + PAPER + STANDARD
NAMES: tuple[str, ...] = tuple(metric.name for metric in METRICS)
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}

SLACK = 1e-9
"""Relative slack at the ends of a range: rounding of the quotients is not a finding."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def inputs(formula: str) -> tuple[str, ...]:
    """The columns and quantities that a formula names, in its order."""
    return tuple(name for name in _code(formula).co_names if name not in _FUNCTIONS)


def machine_columns() -> tuple[str, ...]:
    """The machine columns that some metric needs: options of apu_se.py, ``-`` written ``_``."""
    known = set(COUNTER_NAMES) | {quantity.name for quantity in QUANTITIES}
    formulas = [quantity.formula for quantity in QUANTITIES] + [metric.formula for metric in METRICS]
    formulas += [metric.high for metric in METRICS if isinstance(metric.high, str)]
    return tuple(sorted({name for formula in formulas for name in inputs(formula)} - known))


def compute(frame: pd.DataFrame) -> pd.DataFrame:
    """Append all metric columns and ``flags`` to a frame of counters and machine parameters.

    Args:
        frame: one row per point. Columns that are missing count as unknown, and so are the metrics that need
            them (NaN). ``ruby_clock_ticks`` and ``gpu_clock_ticks`` are taken from the options ``ruby_clock``
            and ``gpu_clock`` ("2GHz") where the counters lack them.

    Returns:
        A new frame. ``flags`` names the metrics outside their range with value and limit, ``""`` if none;
        values are never clipped.

    Raises:
        AnalysisError: a counter or machine column that a metric needs is not numeric.
    """
    columns = _Columns(frame)
    results: dict[str, Array] = {}
    flags: list[list[str]] = [[] for _ in range(len(frame))]
    for metric in METRICS:
        values = columns.evaluate(metric.formula)
        results[metric.name] = values
        low = np.full(len(frame), float(metric.low))
        high = columns.evaluate(str(metric.high)) if isinstance(metric.high, str) else None
        if high is None:
            high = np.full(len(frame), float(metric.high))
        for row in np.flatnonzero(values < low - SLACK * np.abs(low)):
            flags[row].append(f"{metric.name}={values[row]:.6g}<{low[row]:g}")
        infinite = np.isposinf(values)
        for row in np.flatnonzero((values > high * (1 + SLACK)) | infinite):
            limit = "finite" if infinite[row] else f"{high[row]:g}"
            flags[row].append(f"{metric.name}={values[row]:.6g}>{limit}")
    kept = frame.drop(columns=[name for name in (*NAMES, "flags") if name in frame.columns])
    added = pd.DataFrame(results, index=frame.index)
    added["flags"] = pd.Series([";".join(row) for row in flags], index=frame.index, dtype="object")
    return pd.concat([kept, added], axis=1)


class _Columns(Mapping[str, Any]):
    """What formulas see: columns as float arrays, shared quantities, two functions."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self._values: dict[str, Any] = dict(_FUNCTIONS)
        self._quantities = {quantity.name: quantity.formula for quantity in QUANTITIES}
        for name in ("gpu_clock", "ruby_clock"):
            self._values[f"{name}_ticks"] = self._clock(name)

    def evaluate(self, formula: str) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = eval(_code(formula), {"__builtins__": {}}, self)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), (len(self._frame),))

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            if name in self._quantities:
                self._values[name] = self.evaluate(self._quantities[name])
            else:
                self._values[name] = self._column(name)
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame.columns)

    def _column(self, name: str) -> Array:
        if name not in self._frame.columns:
            return np.full(len(self._frame), np.nan)
        try:
            return pd.to_numeric(self._frame[name]).to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            bad = [value for value in self._frame[name] if not isinstance(value, int | float)]
            raise AnalysisError(
                "a metric needs numbers in this column",
                key=name,
                value=bad[0] if bad else str(error),
                remedy="give the option as apu_se.py takes it, a plain number",
            ) from None

    def _clock(self, option: str) -> Array:
        ticks = self._column(f"{option}_ticks")
        if option not in self._frame.columns:
            return ticks
        given = np.array([_period(value) for value in self._frame[option]]) * self._column("sim_freq")
        return np.where(np.isnan(ticks), given, ticks)


def _period(clock: object) -> float:
    """Seconds of one cycle of ``"2GHz"``; NaN for what is no clock."""
    hertz = clock_hertz(str(clock))
    return float("nan") if hertz is None else 1 / hertz


_FUNCTIONS: dict[str, Any] = {"maximum": np.maximum, "where": np.where}


@cache
def _code(formula: str) -> CodeType:
    return compile(formula, f"<formula {formula}>", "eval")
