"""What the launcher leaves out: kernels of two runs side by side, and the parts of their time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from apuflow_analysis.figures.stacked import stacked_shares
from apuflow_analysis.figures.style import (
    BLUE,
    FULL_WIDTH,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    Plot,
    finish,
    legend,
    new_figure,
    style,
)
from apuflow_analysis.tables.dispatches import PARTS, DispatchComparison

MOST_KERNELS = 40
"""Kernels with a bar of their own: the longest ones."""

TITLE = "What the launcher leaves out"
_PART_COLOURS = dict(zip((name for name, _ in PARTS), (GREY, BLUE, ORANGE, SKY, "#dddddd"), strict=True))
_BAR = 0.38


@style()
def kernels_beside(compared: DispatchComparison) -> Plot:
    """GPU cycles of every kernel in both runs; a kernel that one run alone has shows one bar."""
    rows = compared.table
    shown = rows[["cycles_a", "cycles_b"]].max(axis=1).nlargest(MOST_KERNELS).index
    rows = rows.loc[sorted(shown)].reset_index(drop=True)
    figure = new_figure(FULL_WIDTH, 0.8 + 0.24 * len(rows))
    axes = figure.subplots()
    places = np.arange(len(rows))
    for offset, column, colour in ((-_BAR / 2, "cycles_a", BLUE), (_BAR / 2, "cycles_b", GREEN)):
        axes.barh(places + offset, rows[column].fillna(0), height=_BAR, color=colour)
    labels = [f"{row.kernel}  {row.grid}" for row in rows.itertuples(index=False)]
    axes.set_yticks(places, [label if len(label) <= 52 else f"{label[:51]}…" for label in labels])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("GPU cycles, first workgroup to end of the last")
    axes.grid(axis="y", visible=False)
    legend(
        figure,
        [Patch(color=BLUE), Patch(color=GREEN)],
        [f"A: {compared.names[0]}", f"B: {compared.names[1]}"],
    )
    left_out = len(compared.table) - len(rows)
    notes = (*compared.notes, *([f"left out: the {left_out} shortest kernels"] if left_out else []))
    return finish(figure, compared.table, TITLE, notes, name="kernels")


@style()
def time_parts(compared: DispatchComparison) -> Plot:
    """Shares of both runs' simulated time: kernels of the layers, other kernels, and the time around them."""
    parts = compared.parts.set_index("part")
    cycles = parts[["cycles_a", "cycles_b"]].to_numpy(dtype=float)
    names = [name for name, _ in PARTS]
    figure = stacked_shares(
        [f"A: {compared.names[0]}", f"B: {compared.names[1]}"],
        [""],
        [_PART_COLOURS[name] for name in names],
        lambda _: cycles / cycles.sum(axis=0),
        label="Share of simulated time (%)",
        axis=None,
    )
    legend(figure, [Patch(color=_PART_COLOURS[name]) for name in names], [meaning for _, meaning in PARTS])
    title = f"{TITLE}: where the time goes"
    return finish(figure, pd.DataFrame(compared.parts), title, compared.notes, name="time")
