"""What speedups are relative to: one point for all figures, tables and charts of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from apuflow_analysis.figures.axis import axis, axis_columns, in_sentence, label
from apuflow_analysis.figures.choice import across, choice_of, effects, matching
from apuflow_analysis.figures.interval import factors
from apuflow_analysis.figures.selection import completed, independent


def bases(
    frame: pd.DataFrame, x: str | None = None, where: Mapping[str, Any] | None = None
) -> tuple[pd.Series[Any], str]:
    """The row that each completed row's speedup is relative to.

    It is of the same engine and workload. Each axis has the value that the sweep's ``baseline`` names, else
    its first. Sizes of a layer and releases of gem5 have their own, unless they go across: they change the
    work.

    Args:
        frame: a result table; its index tells rows apart.
        x: the column across; by default as the sweep says, else the axis with the greatest effect.
        where: rows to keep: column to a value or several.

    Returns:
        Labels of rows by the rows' own, -1 where that point is missing; and the base in words.
    """
    rows, _ = completed(frame, where)
    choice = choice_of(frame)
    varying = [axis(rows, name) for name in axis_columns(rows)]
    wanted = x or (choice.x if choice.x in {own.column for own in varying} else None)
    keys, _ = independent(rows, varying, [], wanted)
    chosen = across(keys, effects(rows, keys), wanted)
    fixed = [
        key
        for key in keys
        if key is chosen
        or key.column in choice.baseline
        or not (key.column == "release" or (key.column.startswith("layer.") and key.numeric))
    ]
    own_work = [key.column for key in keys if key not in fixed]
    found = pd.Series(-1, rows.index)
    shown: dict[str, set[str]] = {}
    for _, group in rows.groupby(["engine", "workload"], sort=False, dropna=False):
        at_base = pd.Series(True, group.index)
        for key in fixed:
            here = axis(group, key.column)
            if not here.values:
                continue
            value = matching(here, choice.baseline[key.column]) if key.column in choice.baseline else None
            value = here.values[0] if value is None else value
            at_base &= (group[key.column] == value) | group[key.column].isna()
            shown.setdefault(key.column, set()).add(key.text(value))
        for _, alike in group.groupby(own_work, sort=False, dropna=False) if own_work else [((), group)]:
            first = alike.index[at_base[alike.index]]
            if len(first):
                found[alike.index] = first[0]
    texts = [f"{in_sentence(label(name))} = {' or '.join(sorted(values))}" for name, values in shown.items()]
    texts += [f"the same {in_sentence(label(name))}" for name in own_work]
    return found, ", ".join(texts)


def relative(
    frame: pd.DataFrame, time: str, x: str | None = None, where: Mapping[str, Any] | None = None
) -> tuple[pd.DataFrame, str]:
    """The table with the time of each row's base, and the base in words (``bases``).

    Columns ``_base``, NaN where there is none, and its interval ``_base_low`` and ``_base_high``.
    """
    found, text = bases(frame, x, where)
    known = frame.reindex(found[found >= 0].to_numpy())
    known.index = found.index[found >= 0]
    columns = {"_base": known[time].astype(float)}
    for name, factor in zip(("_base_low", "_base_high"), factors(known), strict=True):
        columns[name] = columns["_base"] * factor
    out = frame.copy().assign(**columns)
    out.attrs = dict(frame.attrs)
    return out, text
