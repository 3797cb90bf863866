"""How far the preview's cycles may be off: what figures draw and say of a row's interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from apuflow_analysis.tables.columns import INTERVAL

_LOOK: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.6, "zorder": 1.5}


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
        look = {**_LOOK, "alpha": _LOOK["alpha"] / 2} if guess else _LOOK
        axes.vlines(part["position"], part["low"] * factor, part["high"] * factor, colors=colour, **look)


def legend_entry(data: pd.DataFrame) -> dict[str, Line2D]:
    """What stands for the bars in a legend, where there are some."""
    if not (data["high"] > data["low"]).any():
        return {}
    bar = Line2D([], [], marker="|", markersize=8, linestyle="none", color="#444444", alpha=0.7)
    return {"bar: interval of the preview's cycles": bar}


def reach(data: pd.DataFrame, values: str) -> pd.Series[float]:
    """What an axis shows: all values, and the intervals of those that lie within what was measured."""
    inside = data[~data["unmeasured"].astype(bool)]
    shown: pd.Series[float] = pd.concat([data[values], inside["low"], inside["high"]]).dropna()
    return shown
