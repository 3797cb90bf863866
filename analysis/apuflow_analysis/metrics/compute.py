"""The metrics (``metrics.csv``): formulas over counters, computed for a table, and their ranges checked.

A formula is a Python expression over counter columns (``counters.table``), machine columns (options
of apu_se.py with ``-`` written ``_``), sizes (``tcp_bytes`` of the option ``tcp_size``), the quantities,
metrics of energy and functions, element by element: ``maximum(a, b)``, ``minimum(a, b)``, ``where(condition,
a, b)``, ``known(a, b)`` (b where a is unknown), ``lowest(...)`` and ``highest(...)`` of what is known. It is
both what is computed and what the documentation shows.

The formulas follow the increments in gem5 v23.0.1.0, in the files that the column ``source`` names. Source of
the group ``paper``: Dong and Kaeli, "DNNMark: A Deep Neural Network Benchmark Suite for GPUs" (GPGPU-10,
2017), measured there by nvprof.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz, size_bytes
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.energy import formulas

INF = float("inf")


@dataclass(frozen=True)
class Quantity:
    """A named intermediate of formulas."""

    name: str
    formula: str
    meaning: str


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        unit: of the value; ``1`` for a ratio.
        formula: Python expression over counter and machine columns.
        low, high: the range that values must lie in; ``high`` may be an expression over machine columns.
        caveat: what it does not say.
        group: ``time``, ``paper``, ``standard`` or ``energy``.
    """

    name: str
    unit: str
    formula: str
    low: float
    high: float | str
    meaning: str
    caveat: str
    source: str
    group: str


def _metric(row: list[str]) -> Metric:
    group, name, unit, low, limit, formula, meaning, caveat, source = row
    high: float | str = INF if limit == "inf" else 1 if limit == "1" else limit
    return Metric(name, unit, formula, int(low), high, meaning, caveat, source, group)


with Path(__file__).with_name("metrics.csv").open(newline="", encoding="utf-8") as _file:
    _ROWS = [*[*csv.reader(_file)][1:], *formulas.rows()]
QUANTITIES = tuple(Quantity(row[1], row[5], row[6]) for row in _ROWS if row[0] == "quantity")
METRICS = tuple(_metric(row) for row in _ROWS if row[0] != "quantity")
NAMES: tuple[str, ...] = tuple(metric.name for metric in METRICS)

SLACK = 1e-9
"""Relative slack at the ends of a range: rounding of the quotients is not a finding."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def machine_columns() -> tuple[str, ...]:
    """The machine columns that some metric needs: options of apu_se.py, ``-`` written ``_``."""
    known = {*COUNTER_NAMES, *_NAMED, *_FUNCTIONS}
    texts = [*_QUANTITIES.values(), *(metric.formula for metric in METRICS)]
    texts += [metric.high for metric in METRICS if isinstance(metric.high, str)]
    names = {name for text in texts for name in names_in(text)} - known
    return tuple(sorted({SIZES.get(name, name) for name in names}))


def names_in(formula: str) -> tuple[str, ...]:
    """The columns, sizes, quantities, metrics and functions that a formula names."""
    return _code(formula).co_names


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
    results, flags = evaluate({str(name): values for name, values in frame.items()}, len(frame))
    kept = frame.drop(columns=[name for name in (*NAMES, "flags") if name in frame.columns])
    added = pd.DataFrame(results, index=frame.index)
    added["flags"] = pd.Series(flags, index=frame.index, dtype="object")
    return pd.concat([kept, added], axis=1)


def evaluate(given: Mapping[str, Any], rows: int) -> tuple[dict[str, Array], list[str]]:
    """All metrics of so many rows, and the flags of each row, as ``compute`` appends them."""
    columns = Columns(given, rows)
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


class Columns(dict[str, Any]):
    """What formulas see: columns as float arrays, sizes, shared quantities, functions."""

    def __init__(self, given: Mapping[str, Any], rows: int) -> None:
        super().__init__(_FUNCTIONS)
        self._given, self._rows = given, rows
        for name in ("gpu_clock", "ruby_clock"):
            self[f"{name}_ticks"] = self._clock(name)

    def evaluate(self, formula: str) -> Any:
        """The value of a formula in every row; NaN where a column is missing."""
        return eval(_code(formula), {"__builtins__": {}}, self)

    def __missing__(self, name: str) -> Any:
        if name in SIZES:
            self[name] = self._size(SIZES[name])
        else:
            self[name] = self.evaluate(_NAMED[name]) if name in _NAMED else self._column(name)
        return self[name]

    def _size(self, option: str) -> Array:
        """Bytes of an option such as ``16kB``; NaN where it is not given."""
        values = self._given.get(option)
        if values is None:
            return np.full(self._rows, np.nan)
        texts = [str(value) for value in values]
        known = {text: size_bytes(text) for text in set(texts)}
        return np.array([known[text] or np.nan for text in texts], dtype=np.float64)

    def _column(self, name: str) -> Array:
        values = self._given.get(name)
        if values is None:
            return np.full(self._rows, np.nan)
        if isinstance(values, np.ndarray) and values.dtype.kind in "fi":
            return values.astype(np.float64, copy=False)
        try:
            return pd.to_numeric(pd.Series(values)).to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            bad = next((value for value in values if not isinstance(value, int | float)), str(error))
            remedy = "give the option as apu_se.py takes it, a plain number"
            message = "a metric needs numbers in this column"
            raise AnalysisError(message, key=name, value=bad, remedy=remedy) from None

    def _clock(self, option: str) -> Array:
        ticks = self._column(f"{option}_ticks")
        if option not in self._given or not np.isnan(ticks).any():
            return ticks
        periods = [1 / (clock_hertz(str(value)) or np.nan) for value in self._given[option]]
        return np.where(np.isnan(ticks), np.array(periods) * self._column("sim_freq"), ticks)


_QUANTITIES = {quantity.name: quantity.formula for quantity in QUANTITIES}
_NAMED = _QUANTITIES | {metric.name: metric.formula for metric in METRICS if metric.group == formulas.GROUP}
SIZES = {"tcp_bytes": "tcp_size", "tcc_bytes": "tcc_size"}
"""Names of formulas for sizes, and the machine column that holds each as a text."""


def _known(first: Array, second: Array | float) -> Array:
    return np.where(np.isnan(first), second, first)


def _lowest(*values: Array) -> Array:
    return np.asarray(reduce(np.fmin, values))


def _highest(*values: Array) -> Array:
    return np.asarray(reduce(np.fmax, values))


_FUNCTIONS: dict[str, Any] = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "where": np.where,
    "known": _known,
    "lowest": _lowest,
    "highest": _highest,
    "nan": np.nan,
}


@cache
def _code(formula: str) -> CodeType:
    return compile(formula, f"<formula {formula}>", "eval")
