"""The tables of a report as the page's script reads them, safe to stand inside HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from analysis.figures.axis import label, quantity
from analysis.report.describe import Run
from analysis.tables.tables import columns
from apuflow.core.engines import is_batch

SHOWN = (
    *("gpu_cycles", "gpu_time", "ipc", "occupancy", "valu_utilization", "dram_utilization"),
    *("flags", "stand_in", "max_relative_error"),
)
"""Columns that a table shows at first, beside identity and axes, where they hold anything."""

MANY_ROWS = 3000
"""Above this many rows the page carries only what it shows at first; the CSV has everything."""

_DIGITS = 7


def page_data(frame: pd.DataFrame, runs: Sequence[Run]) -> dict[str, Any]:
    """Columns with their values, and where each row's run is.

    Returns:
        ``rows``, ``links`` and ``columns`` (name, label, kind, unit, meaning, numeric, values or constant),
        columns without any value left out.
    """
    axes = [name for name in frame.attrs.get("axes", ()) if name in frame.columns]
    few = len(frame) <= MANY_ROWS
    described = []
    for column in columns(frame):
        first = column.name in SHOWN or column.kind in ("identity", "axis")
        if not (few or first) or frame[column.name].isna().all():
            continue
        values = [_plain(value) for value in frame[column.name].tolist()]
        numeric = all(value is None or isinstance(value, int | float) for value in values)
        entry: dict[str, Any] = {
            "name": column.name,
            "label": label(column.name) if column.kind == "axis" else column.name,
            "kind": column.kind,
            "unit": column.unit if column.unit != "1" else "",
            "meaning": column.meaning,
            "numeric": numeric,
            "axis": column.name in axes,
            "shown": first and column.name != "direction",
        }
        if column.name in ("engine", "status") and frame[column.name].nunique() == 1:
            entry["shown"] = False
        if column.kind == "axis" and not numeric:
            entry["sizes"] = [quantity(value) if value is not None else None for value in values]
        if len(values) > 1 and len(set(map(repr, values))) == 1:
            entry["constant"] = values[0]
        else:
            entry["values"] = values
        described.append(entry)
    return {"rows": len(frame), "columns": described, "links": _links(frame, runs)}


def embed(data: object) -> Markup:
    """JSON that no content of it can end or turn into markup, for ``<script type="application/json">``."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _links(frame: pd.DataFrame, runs: Sequence[Run]) -> list[str | None]:
    by_point: dict[tuple[str, str, str], str] = {}
    by_batch: dict[tuple[str, str], str] = {}
    for run in runs:
        by_point[run.engine, run.workload, run.point] = run.files["record"]
        by_batch.setdefault((run.engine, run.workload), run.files["record"])
    texts: list[str | None] = []
    for row in frame[["engine", "workload", "point"]].itertuples(index=False):
        key = (str(row.engine), str(row.workload), str(row.point))
        texts.append(by_point.get(key) or (by_batch.get(key[:2]) if is_batch(key[0]) else None))
    return texts


def _plain(value: Any) -> Any:
    """A cell as JSON has it: None where nothing is known, numbers with seven digits."""
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(f"{float(value):.{_DIGITS}g}")
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return str(value)
