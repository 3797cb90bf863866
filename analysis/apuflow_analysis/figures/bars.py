"""Bar figures: stall reasons, instruction mix, and bars for a table in which nothing varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from apuflow_analysis.figures import interval
from apuflow_analysis.figures.choice import FigureError, Where
from apuflow_analysis.figures.panels import CROSS, crosses, origin_notes, unmeasured
from apuflow_analysis.figures.products import engine_parts
from apuflow_analysis.figures.selection import COMBINATION, DIRECTIONS, Selection, select
from apuflow_analysis.figures.stacked import stacked_shares
from apuflow_analysis.figures.style import (
    BLUE,
    DIRECTION_COLOURS,
    FULL_WIDTH,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SINGLE_WIDTH,
    SKY,
    VERMILLION,
    Plot,
    finish,
    legend,
    log_ticks,
    new_figure,
    style,
)

STALLS: tuple[tuple[str, str, str], ...] = (
    ("stall_share_memory", "memory (s_waitcnt)", BLUE),
    ("stall_share_execution", "register of an earlier instruction", VERMILLION),
    ("stall_share_fetch", "instruction fetch", ORANGE),
    ("stall_share_sync", "barrier", PURPLE),
    ("stall_share_not_selected", "ready, not issued", GREEN),
    ("stall_share_sleep", "s_sleep", GREY),
)
MIX: tuple[tuple[str, str, str], ...] = (
    ("mix_valu", "vector ALU", BLUE),
    ("mix_salu", "scalar ALU", SKY),
    ("mix_smem", "scalar memory", GREEN),
    ("mix_vmem", "vector memory", VERMILLION),
    ("mix_lds", "LDS", PURPLE),
    ("mix_other", "branch, wait, barrier, other", GREY),
)
_MOST_BARS = 36
_REST = "rest"
_REST_COLOUR = "#dddddd"


def stalls(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> Plot:
    """Why resident wavefronts did not issue: shares of their cycles, per workload.

    Raises:
        FigureError: the table has no stall shares.
    """
    return _stacked(
        frame,
        STALLS,
        "Stall reasons",
        "Shares of the cycles of resident wavefronts that did not issue",
        x,
        where,
    )


def instruction_mix(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> Plot:
    """Shares of the wavefront instructions by class, per workload.

    Raises:
        FigureError: the table has no instruction counts.
    """
    return _stacked(frame, MIX, "Instruction mix", "Shares of the wavefront instructions executed", x, where)


def program_bars(
    selection: Selection,
    column: str,
    label: str,
    title: str,
    *,
    percent: bool = False,
    logarithmic: bool = False,
    factor: float = 1.0,
    power: int = 0,
) -> Plot:
    """One bar per workload, forward next to backward, for a table in which nothing varies.

    ``power``: as of ``apuflow_analysis.figures.lines.Quantity``.
    """
    rows = selection.rows
    figure = new_figure(FULL_WIDTH if len(selection.programs) > 5 else SINGLE_WIDTH, 2.6)
    axes = figure.subplots()
    pairs = [(direction, engine) for direction in selection.directions for engine in selection.engines]
    thickness = 0.8 / len(pairs)
    handles: dict[str, Artist] = {}
    numbers = []
    for index, (direction, engine) in enumerate(pairs):
        chosen = rows[(rows["direction"] == direction) & (rows["engine"] == engine)]
        if chosen.empty:
            continue
        places = np.array([selection.programs.index(name) for name in chosen["program"]])
        hatch = "" if engine == selection.engines[0] else "////"
        colour = DIRECTION_COLOURS.get(direction, BLUE)
        offset = (index - (len(pairs) - 1) / 2) * thickness
        look: dict[str, Any] = {
            "facecolor": colour if not hatch else "white",
            "edgecolor": colour,
            "hatch": hatch,
            "linewidth": 0.6,
        }
        values = chosen[column].astype(float)
        axes.bar(places + offset, values * factor, width=thickness * 0.92, **look)
        outside = unmeasured(chosen).to_numpy()
        spread = interval.ends(chosen, values, power).assign(position=places + offset, unmeasured=outside)
        interval.whiskers(axes, spread, "black", factor)
        if outside.any():
            axes.plot((places + offset)[outside], values[outside] * factor, clip_on=False, zorder=4, **CROSS)
            handles |= crosses([pd.DataFrame({"unmeasured": outside})])
        handles |= interval.legend_entry(spread)
        parts = engine_parts(engine, selection.engines, chosen, rows)
        handles[", ".join([DIRECTIONS[direction], *parts])] = Patch(**look)
        shown = chosen[["program", "engine", "workload", "direction", "point", column]]
        numbers.append(shown.assign(low=spread["low"], high=spread["high"], unmeasured=outside))
    axes.set_xticks(range(len(selection.programs)), selection.programs)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(label)
    if logarithmic:
        axes.set_yscale("log")
        log_ticks(axes.yaxis, *axes.get_ylim())
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0, symbol=" %"))
    legend(figure, list(handles.values()), list(handles))
    notes = (*selection.notes, *origin_notes(rows))
    return finish(figure, pd.concat(numbers, ignore_index=True), title, notes)


@style()
def _stacked(
    frame: pd.DataFrame,
    parts: Sequence[tuple[str, str, str]],
    title: str,
    label: str,
    x: str | None,
    where: Where,
) -> Plot:
    known = [part for part in parts if part[0] in frame.columns and frame[part[0]].notna().any()]
    if not known:
        raise FigureError("the table has no shares for this figure", key=parts[0][0])
    selection = select(frame, [name for name, _, _ in known], x=x, where=where, most=few(frame))
    rows, ends = at_ends(selection)
    rows = labelled(selection, rows)
    if len(known) < len(parts):
        missing = ", ".join(text for name, text, _ in parts if name not in {one[0] for one in known})
        known.append((_REST, f"rest, not told apart by the engine: {missing}", _REST_COLOUR))
        rows[_REST] = (1 - rows[[name for name, _, _ in known[:-1]]].sum(axis=1)).clip(lower=0)
    order = list(dict.fromkeys(rows["_label"]))
    columns = [column for column, _, _ in known]
    figure = stacked_shares(
        order,
        ends,
        [colour for _, _, colour in known],
        lambda end: (
            rows[rows["_end"] == end]
            .set_index("_label")[columns]
            .reindex(order)
            .clip(lower=0.0)
            .to_numpy(dtype=float)
            .T
        ),
        label="Share (%)",
        axis=selection.x.label if selection.x is not None else None,
    )
    shown = [part for part in known if float(rows[part[0]].max()) > 0.0005]
    legend(figure, [Patch(color=colour) for _, _, colour in shown], [text for _, text, _ in shown])
    absent = [part[1] for part in known if part not in shown and part[0] != _REST]
    notes = (*selection.notes, label, *([f"below 0.05 % everywhere: {', '.join(absent)}"] if absent else []))
    numbers = [numbers_of(rows, name, "share").assign(part=name) for name, _, _ in known]
    return finish(figure, pd.concat(numbers, ignore_index=True), title, notes)


def few(frame: pd.DataFrame) -> int:
    """How many combinations of further axes to show per workload, so that a figure stays on its page."""
    bars = len(frame[["engine", "workload"]].drop_duplicates())
    return max(1, _MOST_BARS // max(1, bars))


def at_ends(selection: Selection) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows at the baseline (else the smallest) and the largest value of the axis, marked in ``_end``."""
    rows = selection.rows
    if selection.x is None:
        return rows.assign(_end=""), ("",)
    x = selection.x
    start = selection.baseline.get(x.column, x.values[0])
    values = (start, x.values[-1]) if start != x.values[-1] else (x.values[0], start)
    kept = rows[rows[x.column].isin(values)]
    return kept.assign(_end=[x.text(value) for value in kept[x.column]]), tuple(
        x.text(value) for value in values
    )


def labelled(selection: Selection, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in reading order, with what to write at each in ``_label``."""
    places, texts = [], []
    for _, row in rows.iterrows():
        parts = [str(row["workload"])]
        parts += [row[COMBINATION]] if row[COMBINATION] else []
        parts += engine_parts(str(row["engine"]), selection.engines, row.to_frame().T, selection.rows)
        texts.append(", ".join(parts))
        places.append(
            (
                selection.programs.index(row["program"]),
                list(DIRECTIONS).index(row["direction"]),
                selection.combinations.index(row[COMBINATION]),
                selection.engines.index(row["engine"]),
            )
        )
    order = sorted(range(len(rows)), key=lambda index: (*places[index], texts[index]))
    return rows.assign(_label=texts).iloc[order]


def numbers_of(rows: pd.DataFrame, column: str, renamed: str) -> pd.DataFrame:
    """The drawn numbers of one column of labelled rows, under another name."""
    data = rows[["engine", "workload", "direction", "point", "_end", "_label", column]]
    return data.rename(columns={"_end": "at", "_label": "label", column: renamed})
