"""Objectives over the rows of a table: their values, and the points that no other beats."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.errors import ConfigError
from apuflow.core.units import clock_hertz, size_bytes
from apuflow_analysis.tables.columns import MACHINE

CYCLES = ("gpu_cycles", "gpu_cycles_low", "gpu_cycles_high")
_EXPRESSIONS = "numbers, + - * / ( ) < > and columns of `apuflow list metrics`, axes with _ for - and ."


@dataclass(frozen=True)
class Objective:
    """An expression over a row's columns; the smaller the better, or the larger."""

    expression: str
    larger: bool = False


def values(
    frame: pd.DataFrame, expressions: Sequence[str], axes: Sequence[str] = ()
) -> dict[str, pd.Series[Any]]:
    """The values of expressions in each row of a table; sizes count in bytes, clocks in Hz.

    Args:
        axes: columns to name where an expression is wrong.

    Raises:
        ConfigError: an expression cannot be evaluated.
    """
    known = _numbers(frame)
    return {
        text: known[text] if text in known else _evaluated(known, text, axes).astype(float)
        for text in expressions
    }


def end_names(expression: str) -> tuple[str, str]:
    """Columns of the smallest and the largest value that an expression may have."""
    return f"{expression}_low", f"{expression}_high"


def ends(
    frame: pd.DataFrame, expressions: Sequence[str], axes: Sequence[str] = ()
) -> dict[str, pd.Series[Any]]:
    """The interval of expressions in each row, in the columns of ``end_names``.

    It follows from that of the cycles. An expression over options and axes is exact. NaN: the expression
    uses a quantity without an interval.

    Raises:
        ConfigError: an expression cannot be evaluated.
    """
    found: dict[str, pd.Series[Any]] = {}
    cycles = frame["gpu_cycles"].astype(float)
    scales = [(frame[name].astype(float) / cycles).fillna(1.0) for name in CYCLES[1:]]
    at_ends = [_scaled(frame, scale) for scale in scales]
    for text in expressions:
        names = _names(text) & {str(name).replace(".", "_") for name in frame.columns}
        used = names - _of_machines(axes)
        both = [values(each, [text])[text].astype(float) for each in at_ends]
        known = used <= set(_TIMES)
        low, high = end_names(text)
        found[low] = both[0].where(both[0] <= both[1], both[1]) if known else both[0] * np.nan
        found[high] = both[0].where(both[0] >= both[1], both[1]) if known else both[0] * np.nan
    return found


_TIMES = ("gpu_cycles", "gpu_time")
"""Quantities that have the interval of the cycles."""


def _scaled(frame: pd.DataFrame, scale: pd.Series[Any]) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].astype(float) * scale for name in _TIMES if name in frame})


def _of_machines(axes: Sequence[str]) -> set[str]:
    """Names that say what the machine is, and what varies."""
    return {name.replace(".", "_") for name in (*axes, *(column.name for column in MACHINE))}


def holds(frame: pd.DataFrame, constraint: str) -> np.ndarray[Any, Any]:
    """Of each row whether a constraint holds, such as ``dram_bytes_read < 1e9``.

    Raises:
        ConfigError: it cannot be evaluated, or compares nothing.
    """
    found = _evaluated(_numbers(frame), constraint)
    if not pd.api.types.is_bool_dtype(found):
        remedy = "'dram_bytes_read < 1e9'"
        raise ConfigError("a constraint compares", key="--where", value=constraint, remedy=remedy)
    return found.to_numpy(dtype=bool)


def pareto(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of each row whether no other is as small in every column and smaller in one."""
    best = np.ones(len(points), dtype=bool)
    order = np.lexsort(points.T[::-1])
    front: list[int] = []
    for k in order:
        ahead = points[front]
        beaten = (ahead <= points[k]).all(axis=1) & (ahead < points[k]).any(axis=1)
        best[k] = not beaten.any()
        if best[k]:
            front.append(int(k))
    return best


def of_machines(
    frame: pd.DataFrame, axes: Sequence[str], expressions: Sequence[str], workloads: int
) -> pd.DataFrame:
    """One row per combination of the axes: what the workloads take together.

    An expression over axes and options of the machine alone is the same for all of them and counts once.
    Columns of ``ends`` add up as their expressions do.
    """
    interval = [name for text in expressions for name in end_names(text) if name in frame]
    if workloads == 1:
        sums = frame
    else:
        groups = frame.groupby(list(axes), sort=False, dropna=False)
        added = list(dict.fromkeys([*expressions, *CYCLES, *interval]))
        once = [text for text in expressions if _names(text) <= _of_machines(axes)]
        once += [name for text in once for name in end_names(text) if name in interval]
        sums = groups[added].sum().reset_index()
        for text in once:
            sums[text] = groups[text].first().to_numpy()
        flags = groups["flags"].agg(lambda texts: next((text for text in texts if text), ""))
        sums["flags"] = flags.to_numpy()
        sums = sums[(groups.size() == workloads).to_numpy()]
    names = dict.fromkeys([*axes, *expressions, *CYCLES, *interval, "flags"])
    return sums[list(names)].reset_index(drop=True)


def _names(expression: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w*", expression))


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns that an expression can use."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            columns[str(name)] = column
            continue
        read = [clock_hertz(str(v)) or size_bytes(str(v)) for v in column.unique()]
        if read and all(value is not None for value in read):
            columns[str(name)] = column.map(dict(zip(column.unique(), read, strict=True)))
    return pd.DataFrame(columns).rename(columns=lambda name: name.replace(".", "_"))


def _meant(expression: str, known: Iterable[str]) -> str:
    """The columns that a misspelt one is close to."""
    columns = sorted(map(str, known))
    unknown = sorted(_names(expression) - set(columns))
    near = [match for name in unknown for match in difflib.get_close_matches(name, columns, 1)]
    return "".join(f"did you mean {match}? " for match in near)


def _evaluated(numbers: pd.DataFrame, expression: str, axes: Sequence[str] = ()) -> pd.Series[Any]:
    try:
        value = numbers.eval(expression, engine="python", local_dict={}, global_dict={})
    except Exception as error:  # pandas raises whatever its parser does
        remedy = _meant(expression, numbers.columns) + _EXPRESSIONS
        remedy += f"; here: {', '.join(name.replace('.', '_') for name in axes)}" if axes else ""
        message = f"the expression cannot be evaluated: {error}"
        raise ConfigError(message, value=expression, remedy=remedy) from None
    found = pd.Series(value, index=numbers.index)
    if not (pd.api.types.is_numeric_dtype(found) or pd.api.types.is_bool_dtype(found)):
        raise ConfigError("the expression gives no number", value=expression, remedy=_EXPRESSIONS)
    return found
