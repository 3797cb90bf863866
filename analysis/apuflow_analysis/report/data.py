"""The tables of a report as the page's script reads them, safe inside HTML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from apuflow.core.engines import is_batch
from apuflow.core.products import stands_in
from apuflow_analysis.figures.axis import axes_of, choice_of, held_at, label, quantity, ranked, short_label
from apuflow_analysis.figures.base import bases
from apuflow_analysis.report.describe import Run
from apuflow_analysis.tables.columns import BOUNDS, INTERVAL, UNMEASURED, WRONG
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.tables import columns

SHOWN = (
    *("gpu_cycles", "bound", "flags", "products", "stand_in", "extrapolated", "gpu_time", "ipc", "occupancy"),
    *("valu_utilization", "lds_utilization", "memory_link_utilization", "gpu_dram_utilization"),
    "max_relative_error",
)
"""Columns that a table shows at first, after workload and axes, where they hold anything."""
_FIRST = ("workload", "engine")
_LAST = ("status", "point")

MANY_ROWS = 3000
"""Above this many rows the page carries only what it shows at first; the CSV has everything."""
_WIDEST = 24
"""Characters of a heading."""
_DIGITS = 7

Tag = tuple[str, str]
_MEANINGS = {
    "unmeasured": "outside what the preview was measured on: the interval of the cycles is a guess",
    "wrong values": "the kernels' outputs are not what NumPy says",
    "check": "a metric outside its range or a broken identity",
    "extrapolated": "gem5 ran the first workgroups of a launch: cycles and counts are scaled to all of them",
    "stand-in": "the cycles include a kernel of this project in the place of a library's",
    "scaling": "a kernel of this project scales or clears the matrix that rocBLAS' own kernels add to",
}
"""What a short form of a long text says."""


def page_data(
    frame: pd.DataFrame, runs: Sequence[Run], together: Sequence[Sequence[str]] = ()
) -> dict[str, Any]:
    """Columns with their values, where each row's run is, and what the chart shows at first.

    Args:
        runs: whose records the rows link to.
        together: columns that advance together, and so are one axis of the chart.

    Returns:
        ``rows``, ``links``, ``columns`` (name, label, kind, unit, meaning, numeric, values or constant, tags:
        short forms of long texts in cells), columns without any value left out; ``legend`` of the
        tags; ``chart``: the axis across, and the others by importance with the value at which each is held;
        ``base``: of each row the row that its speedup is relative to, -1 for none, and that in words.
    """
    axes = [name for name in frame.attrs.get("axes", ()) if name in frame.columns]
    few = len(frame) <= MANY_ROWS
    described = []
    for column in columns(frame):
        first = column.name in (*SHOWN, *INTERVAL) or column.kind in ("identity", "axis")
        if not (few or first) or frame[column.name].isna().all():
            continue
        values = [_plain(value) for value in frame[column.name].tolist()]
        numeric = all(value is None or isinstance(value, int | float) for value in values)
        entry: dict[str, Any] = {
            "name": column.name,
            "label": column.name,
            "kind": column.kind,
            "unit": column.unit if column.unit != "1" else "",
            "meaning": column.meaning,
            "numeric": numeric,
            "axis": column.name in axes,
            "shown": first and column.name not in ("direction", *INTERVAL),
        }
        if column.name in ("engine", "status") and frame[column.name].nunique() == 1:
            entry["shown"] = False
        if column.name in _TAGGED:
            entry["tags"] = [[tag for tag, _ in _tags(column.name, value)] for value in frame[column.name]]
        if column.kind == "axis":
            whole = label(column.name)
            entry["label"] = whole if len(whole) <= _WIDEST else short_label(column.name)
        if column.kind == "axis" and not numeric:
            entry["sizes"] = [quantity(value) if value is not None else None for value in values]
        if len(values) > 1 and len(set(map(repr, values))) == 1:
            entry["constant"] = values[0]
        else:
            entry["values"] = values
        described.append(entry)
    groups = [_group(frame, group) for group in together if len(set(group) & set(axes)) > 1]
    joined = {name for group in groups for name in group["members"]}
    for entry in described:
        entry["axis"] = entry["axis"] and entry["name"] not in joined
    described = sorted([*described, *groups], key=_rank)
    return {
        "rows": len(frame),
        "columns": described,
        "links": _links(frame, runs),
        "legend": _legend(frame),
        "chart": _chart(frame, {name: group for group in groups for name in group["members"]}),
        "base": _base(frame),
    }


def _rank(entry: dict[str, Any]) -> tuple[int, int]:
    name = entry["name"]
    if name in _FIRST:
        return 0, _FIRST.index(name)
    if entry["kind"] == "axis":
        return 1, 0
    if name in SHOWN:
        return 2, SHOWN.index(name)
    return (3, _LAST.index(name)) if name in _LAST else (4, 0)


def _group(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Columns that advance together as one: by the first of them where that tells its values apart."""
    own = [name for name in names if name in frame.columns]
    rows = [tuple(_plain(value) for value in row) for row in frame[own].itertuples(index=False, name=None)]
    order = sorted(set(rows), key=lambda row: tuple((quantity(value) or 0.0, str(value)) for value in row))
    alone = len({row[0] for row in order}) == len(order)
    texts = {row: str(row[0]) if alone else " + ".join(map(str, row)) for row in order}
    sizes = {row: quantity(row[0]) if alone else float(index) for index, row in enumerate(order)}
    labels = [label(name) for name in own]
    return {
        "name": "+".join(own),
        "label": f"{labels[0]} (with {', '.join(labels[1:])})" if alone else " + ".join(labels),
        "kind": "group",
        "unit": "",
        "meaning": "values that advance together",
        "numeric": False,
        "axis": True,
        "shown": False,
        "members": own,
        "values": [texts[row] for row in rows],
        "sizes": [sizes[row] for row in rows],
    }


def _chart(frame: pd.DataFrame, group_of: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What goes across, the other axes by importance, and the value at which each is held."""
    rows = frame[frame["status"] == COMPLETED]
    choice, axes = choice_of(frame), axes_of(rows)
    if axes.x is None:
        return {"x": None, "others": []}
    names = {key.column: group_of.get(key.column, {"name": key.column})["name"] for key in axes.keys}
    across = names[axes.x.column]
    others: dict[str, dict[str, Any]] = {}
    for key in ranked(axes.keys, axes.effect, choice.lines):
        name = names[key.column]
        value = None if key.column in group_of else _plain(held_at(rows, key, choice.baseline))
        held = choice.lines is not None and key.column not in choice.lines
        others.setdefault(name, {"name": name, "value": value, "held": held})
    return {"x": across, "others": [other for name, other in others.items() if name != across]}


def _base(frame: pd.DataFrame) -> dict[str, Any]:
    """The place of each row's base on the page, and its name."""
    if not (frame["status"] == COMPLETED).any():
        return {"rows": [-1] * len(frame), "text": ""}
    found, text = bases(frame)
    place = {label: position for position, label in enumerate(frame.index)}
    rows = [place.get(found.get(label, -1), -1) for label in frame.index]
    return {"rows": rows, "text": text}


def _tags(column: str, value: Any) -> Iterator[Tag]:
    """Short forms of a long text with their meanings."""
    if not isinstance(value, str) or not value:
        return
    if column == "bound":
        known = BOUNDS.get(value)
        yield (known.label, f"limited by {known.meaning}") if known else (value, value)
    else:
        for tag in _TAGGED[column](value):
            yield tag, _MEANINGS[tag]


def _of_flags(text: str) -> Iterator[str]:
    parts = [part for part in re.split(r";(?=\S)", text) if part]
    away = f"{UNMEASURED}: "
    if any(part.startswith(WRONG) for part in parts):
        yield "wrong values"
    if any(part.startswith(away) for part in parts):
        yield "unmeasured"
    if any(not part.startswith((WRONG, away)) for part in parts):
        yield "check"


_TAGGED: Mapping[str, Callable[[str], Iterable[str]]] = {
    "flags": _of_flags,
    "stand_in": lambda text: ["stand-in" if stands_in(text) else "scaling"],
    "extrapolated": lambda _: ["extrapolated"],
    "bound": lambda _: [],
}
"""Columns of long texts: the short forms of one."""


def _legend(frame: pd.DataFrame) -> list[Tag]:
    """The tags of a table with their meanings, each once."""
    present = [name for name in _TAGGED if name in frame.columns]
    found = (tag for name in present for value in pd.unique(frame[name]) for tag in _tags(name, value))
    return list(dict.fromkeys(found))


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
        by_point[run.key] = run.files["record"]
        by_batch.setdefault(run.key[:2], run.files["record"])
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
