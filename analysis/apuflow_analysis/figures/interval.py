"""How sure a row is: the interval of its cycles, and whether the preview was measured where it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from apuflow.core.products import stands_in
from apuflow_analysis.tables.columns import INTERVAL, UNMEASURED, flagged

CROSS: dict[str, Any] = {
    "marker": "x",
    "linestyle": "none",
    "color": "black",
    "markersize": 3.5,
    "markeredgewidth": 0.8,
    "path_effects": [Stroke(linewidth=2.2, foreground="white"), Normal()],
}
"""A cross with a white edge, which shows on every colour."""


def unmeasured(rows: pd.DataFrame) -> pd.Series[bool]:
    """Of each row: whether it is the preview's and lies outside what that was measured on."""
    return flagged(rows, f"{UNMEASURED}: ")


def origin_notes(rows: pd.DataFrame) -> tuple[str, ...]:
    """Which workloads were not measured, or ran stand-ins for their own kernels; nothing where none did."""
    found = {"outside of what the preview was measured on": rows[unmeasured(rows)]}
    if "stand_in" in rows.columns:
        replaced = rows[[stands_in(text) for text in rows["stand_in"]]]
        found["with stand-ins for kernels (column stand_in)"] = replaced
    return tuple(
        f"{said}: {', '.join(dict.fromkeys(own['workload']))}" for said, own in found.items() if len(own)
    )


def factors(rows: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    """The interval of each row's cycles over its cycles, both ends; NaN where a row has none."""
    if not {*INTERVAL, "gpu_cycles"} <= set(rows.columns):
        none = pd.Series(np.nan, rows.index, dtype=float)
        return none, none
    cycles = rows["gpu_cycles"].astype(float)
    low, high = (rows[name].astype(float) / cycles for name in INTERVAL)
    return low, high


def ends(rows: pd.DataFrame, values: pd.Series[float], power: int) -> pd.DataFrame:
    """``low`` and ``high`` of values that go with the cycles to a ``power``: 1, -1; NaN for 0."""
    low, high = factors(rows)
    if power == 0:
        return pd.DataFrame({"low": low * np.nan, "high": high * np.nan})
    first, last = (low, high) if power > 0 else (1 / high, 1 / low)
    return pd.DataFrame({"low": values * first, "high": values * last})


def note(rows: pd.DataFrame) -> tuple[str, ...]:
    """How wide the intervals of a figure's rows are, in words; nothing where they have none."""
    low, high = (100 * (factor.dropna() - 1) for factor in factors(rows))
    if low.empty:
        return ()
    return (
        f"interval of the preview's cycles: {low.median():+.0f} to {high.median():+.0f} % in the median "
        f"point, {low.min():+.0f} to {high.max():+.0f} % in the widest",
    )


def whiskers(axes: Axes, data: pd.DataFrame, colour: str, factor: float = 1.0) -> None:
    """A thin bar from ``low`` to ``high`` at each ``position``; a pale one where it is a guess."""
    known = data[data["high"] > data["low"]]
    for guess, part in known.groupby(known["unmeasured"].astype(bool)):
        look: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.3 if guess else 0.6, "zorder": 1.5}
        axes.vlines(part["position"], part["low"] * factor, part["high"] * factor, colors=colour, **look)


def cross_out(axes: Axes, data: pd.DataFrame, heights: pd.Series[Any]) -> None:
    """A cross on each point outside what the preview was measured on (column ``unmeasured``)."""
    outside = data["unmeasured"].to_numpy(dtype=bool)
    if outside.any():
        axes.plot(data["position"].to_numpy()[outside], heights.to_numpy()[outside], zorder=4, **CROSS)


def crosses(data: pd.DataFrame) -> dict[str, Artist]:
    """The legend's entry for crosses, if there are any."""
    found = data["unmeasured"].any()
    return {"cross: the preview was not measured there": Line2D([], [], **CROSS)} if found else {}


def legend_entries(data: pd.DataFrame) -> dict[str, Artist]:
    """The legend's entries for crosses and bars, if there are any."""
    if not (data["high"] > data["low"]).any():
        return crosses(data)
    bar = Line2D([], [], marker="|", markersize=8, linestyle="none", color="#444444", alpha=0.7)
    return {**crosses(data), "bar: interval of the preview's cycles": bar}


def reach(data: pd.DataFrame, values: str) -> pd.Series[float]:
    """What an axis shows: all values, and the intervals of those that lie within what was measured."""
    inside = data[~data["unmeasured"].astype(bool)]
    shown: pd.Series[float] = pd.concat([data[values], inside["low"], inside["high"]]).dropna()
    return shown
