"""Compute every metric of a table of counters, and flag what lies outside its range."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.metrics.metric import QUANTITIES, Metric
from apuflow_analysis.metrics.paper import PAPER
from apuflow_analysis.metrics.standard import STANDARD, TIME

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
    results, flags = reckon({str(name): values for name, values in frame.items()}, len(frame))
    kept = frame.drop(columns=[name for name in (*NAMES, "flags") if name in frame.columns])
    added = pd.DataFrame(results, index=frame.index)
    added["flags"] = pd.Series(flags, index=frame.index, dtype="object")
    return pd.concat([kept, added], axis=1)


def reckon(given: Mapping[str, Any], rows: int) -> tuple[dict[str, Array], list[str]]:
    """All metrics, and the flags of each row, as ``compute`` appends them.

    Args:
        given: columns of so many rows.
    """
    columns = _Columns(given, rows)
    values = np.empty((len(METRICS), rows))
    low, high = np.empty((len(METRICS), 1)), np.empty((len(METRICS), rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, metric in enumerate(METRICS):
            values[k], low[k] = columns.evaluate(metric.formula), metric.low
            high[k] = columns.evaluate(metric.high) if isinstance(metric.high, str) else metric.high
        below = values < low - SLACK * np.abs(low)
        above = (values > high * (1 + SLACK)) | np.isposinf(values)
    flags: list[list[str]] = [[] for _ in range(rows)]
    for k, row in np.argwhere(below | above):
        value = values[k, row]
        if below[k, row]:
            flags[row].append(f"{METRICS[k].name}={value:.6g}<{low[k, 0]:g}")
        if above[k, row]:
            limit = "finite" if np.isposinf(value) else f"{high[k, row]:g}"
            flags[row].append(f"{METRICS[k].name}={value:.6g}>{limit}")
    return dict(zip(NAMES, values, strict=True)), [";".join(row) for row in flags]


class _Columns(dict[str, Any]):
    """What formulas see: columns as float arrays, shared quantities, two functions."""

    def __init__(self, given: Mapping[str, Any], rows: int) -> None:
        super().__init__(_FUNCTIONS)
        self._given, self._rows = given, rows
        for name in ("gpu_clock", "ruby_clock"):
            self[f"{name}_ticks"] = self._clock(name)

    def evaluate(self, formula: str) -> Any:
        return eval(_code(formula), {"__builtins__": {}}, self)

    def __missing__(self, name: str) -> Any:
        self[name] = self.evaluate(_QUANTITIES[name]) if name in _QUANTITIES else self._column(name)
        return self[name]

    def _column(self, name: str) -> Array:
        values = self._given.get(name)
        if values is None:
            return np.full(self._rows, np.nan)
        if isinstance(values, np.ndarray) and values.dtype.kind in "fi":
            return values.astype(np.float64, copy=False)
        try:
            return pd.to_numeric(pd.Series(values)).to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            bad = [value for value in values if not isinstance(value, int | float)]
            raise AnalysisError(
                "a metric needs numbers in this column",
                key=name,
                value=bad[0] if bad else str(error),
                remedy="give the option as apu_se.py takes it, a plain number",
            ) from None

    def _clock(self, option: str) -> Array:
        ticks = self._column(f"{option}_ticks")
        if option not in self._given or not np.isnan(ticks).any():
            return ticks
        given = np.array([_period(value) for value in self._given[option]]) * self._column("sim_freq")
        return np.where(np.isnan(ticks), given, ticks)


def _period(clock: object) -> float:
    """Seconds of one cycle of ``"2GHz"``; NaN for what is no clock."""
    hertz = clock_hertz(str(clock))
    return float("nan") if hertz is None else 1 / hertz


_QUANTITIES = {quantity.name: quantity.formula for quantity in QUANTITIES}
_FUNCTIONS: dict[str, Any] = {"maximum": np.maximum, "where": np.where}


@cache
def _code(formula: str) -> CodeType:
    return compile(formula, f"<formula {formula}>", "eval")
