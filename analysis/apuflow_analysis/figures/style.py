"""How every figure looks: one style file, colours that colour-blind readers can tell apart, one frame.

Colours: Okabe and Ito, "Color Universal Design" (2008), for named things; viridis for ordered ones.
"""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

STYLE_FILE = Path(__file__).with_name("apuflow.mplstyle")

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, GREY, YELLOW = "#56B4E9", "#CC79A7", "#999999", "#F0E442"
NAMED: tuple[str, ...] = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#000000", GREY)
MANY: tuple[str, ...] = (
    *NAMED,
    *("#332288", "#882255", "#44AA99", "#999933", "#661100", "#DDCC77", "#6699CC", "#AA4499"),
)
"""For up to 16 things on one panel: after Okabe and Ito's, Paul Tol's muted ones."""
DIRECTION_COLOURS = {"fwd": BLUE, "bwd": VERMILLION, "both": GREEN}
MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (4, 1.6)),
    (0, (1, 1.2)),
    (0, (5, 1, 1, 1)),
)

FULL_WIDTH = 7.16
"""Inches: both columns of a two-column page."""

SINGLE_WIDTH = 5.0
"""Inches: a figure of one panel."""

_NOTE_SIZE = 7.0
_TITLE_SIZE = 9.5


@dataclass(frozen=True)
class Plot:
    """A drawn figure and the numbers in it.

    Attributes:
        figure: the matplotlib figure, bound to no window and no global state.
        data: one row per drawn number, with the columns that say what it is.
        name, title, caption: as the registry has them; ``caption`` also says what was left out of this one.
    """

    figure: Figure
    data: pd.DataFrame
    title: str
    name: str = ""
    caption: str = ""
    notes: tuple[str, ...] = field(default=())


@contextlib.contextmanager
def style() -> Iterator[None]:
    """The project's look inside the block, whatever the caller's settings are, and those again after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(str(STYLE_FILE), use_default_template=False))
        yield


def ordered_colours(count: int) -> list[str]:
    """``count`` colours for ordered values, dark to light, none too light for white paper."""
    if count == 1:
        return [BLUE]
    scale = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(scale(0.85 * index / (count - 1))) for index in range(count)]


def many_look(index: int) -> tuple[str, str]:
    """Colour and marker of one of many things: no two of the first 16 share a colour."""
    return MANY[index % len(MANY)], MARKERS[(index // len(NAMED) + index) % len(MARKERS)]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches; its layout leaves room for titles and legends by itself."""
    return Figure(figsize=(width, height), layout="constrained")


def head(figure: Figure, title: str, notes: Sequence[str]) -> None:
    """Title and, below it, what the reader must know: engine, machine, what is held, what is left out.

    The figure grows by the height of it, so that panels keep their size.
    """
    columns = max(40, int(figure.get_figwidth() * 72 / (_NOTE_SIZE * 0.55)))
    lines = [line for note in notes for line in textwrap.wrap(note, columns, break_long_words=True)]
    step = _NOTE_SIZE * 1.3 / 72
    first = (_TITLE_SIZE * 1.3 + 4) / 72
    height = first + step * len(lines) + 0.06
    figure.set_figheight(figure.get_figheight() + height)
    total = figure.get_figheight()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, 0, 1, 1 - height / total))
    look: dict[str, Any] = {"ha": "left", "va": "top", "parse_math": False, "in_layout": False}
    figure.text(0.01, 1 - 4 / 72 / total, title, fontsize=_TITLE_SIZE, fontweight="bold", **look)
    for index, line in enumerate(lines):
        place = 1 - (first + index * step) / total
        figure.text(0.01, place, line, fontsize=_NOTE_SIZE, color="#555555", **look)


def log_ticks(scale: Axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis: powers of ten, and 2 and 5 between where few powers fit."""
    scale.set_minor_locator(NullLocator())
    scale.set_major_formatter(EngFormatter(sep=""))
    if high / low < 300:
        scale.set_major_locator(LogLocator(subs=(1, 2, 5)))


def legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """One legend for all panels, below them, in as many columns as fit; the figure grows by its height."""
    if not handles:
        return
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), int(figure.get_figwidth() * 72 / (longest * 4.3 + 34))))
    rows = math.ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + 0.08 + rows * 0.16)
    figure.legend(list(handles), list(labels), loc="outside lower center", ncols=columns)
