"""What speedups are relative to: one point for all figures, tables and charts of a page."""

from __future__ import annotations

from typing import Any

import pandas as pd

from apuflow_analysis.figures.axis import Where, axes_of, axis, choice_of, in_sentence, label, matching
from apuflow_analysis.figures.interval import factors
from apuflow_analysis.figures.selection import completed


def bases(frame: pd.DataFrame, x: str | None = None, where: Where = None) -> tuple[pd.Series[Any], str]:
    """The row that each completed row's speedup is relative to.

    It is of the same engine and workload. Each axis has the value that the sweep's ``baseline`` names, else
    its first. Sizes of a layer and releases of gem5 have their own, unless they go across: they change the
    work.

    Returns:
        Labels of rows by the rows' own, -1 where that point is missing; and the base in words.
    """
    rows, _ = completed(frame, where)
    baseline = choice_of(frame).baseline
    axes = axes_of(rows, x)
    fixed = [
        key
        for key in axes.keys
        if key is axes.x
        or key.column in baseline
        or not (key.column == "release" or (key.column.startswith("layer.") and key.numeric))
    ]
    own_work = [key.column for key in axes.keys if key not in fixed]
    found = pd.Series(-1, rows.index)
    shown: dict[str, set[str]] = {}
    for _, group in rows.groupby(["engine", "workload"], sort=False, dropna=False):
        at_base = pd.Series(True, group.index)
        for key in fixed:
            here = axis(group, key.column)
            if not here.values:
                continue
            value = matching(here, baseline[key.column]) if key.column in baseline else None
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
    frame: pd.DataFrame, time: str, x: str | None = None, where: Where = None
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
    return frame.copy().assign(**columns), text
