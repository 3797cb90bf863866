"""A drawn figure: its look, its legend and notes, and its files; the same numbers give the same bytes.

Colours: Okabe and Ito, "Color Universal Design" (2008), for named things; viridis for ordered ones.
"""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from apuflow.core.files import write_files

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, GREY, YELLOW = "#56B4E9", "#CC79A7", "#999999", "#F0E442"
NAMED: tuple[str, ...] = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "#000000", GREY)
_MANY: tuple[str, ...] = (
    *NAMED,
    *("#332288", "#882255", "#44AA99", "#999933", "#661100", "#DDCC77", "#6699CC", "#AA4499"),
)
"""For up to 16 things on one panel: after Okabe and Ito's, Paul Tol's muted ones."""
DIRECTION_COLOURS = {"fwd": BLUE, "bwd": VERMILLION, "both": GREEN}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")

FULL_WIDTH = 7.16
"""Inches: both columns of a two-column page."""
SINGLE_WIDTH = 5.0
"""Inches: a figure of one panel."""

_NOTE_SIZE = 7.0
_TITLE_SIZE = 9.5
_CELL_SIZE = 6.5
_CELL_GAP = 0.06


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
    notes: tuple[str, ...] = ()

    def _repr_svg_(self) -> str:
        """What a notebook shows of it."""
        return render_svg(self.figure).decode()


@contextlib.contextmanager
def style() -> Iterator[None]:
    """The project's look inside the block, whatever the caller's settings are, and those again after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        file = str(Path(__file__).with_name("apuflow.mplstyle"))
        mpl.rcParams.update(mpl.rc_params_from_file(file, use_default_template=False))
        yield


def ordered_colours(count: int) -> list[str]:
    """``count`` colours for ordered values, dark to light, none too light for white paper."""
    if count == 1:
        return [BLUE]
    scale = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(scale(0.85 * index / (count - 1))) for index in range(count)]


def many_look(index: int) -> dict[str, Any]:
    """Colour and marker of one of many things: no two of the first 16 share a colour."""
    marker = MARKERS[(index // len(NAMED) + index) % len(MARKERS)]
    return {"color": _MANY[index % len(_MANY)], "marker": marker, "linestyle": "none"}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches; its layout leaves room for titles and legends by itself."""
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, data: pd.DataFrame, title: str, notes: Sequence[str], name: str = "") -> Plot:
    """The figure with its title and, below it, the notes: engine, machine, what is held, what is left out.

    The figure grows by their height, so that panels keep their size.
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
    return Plot(figure, data, title, name, notes=tuple(notes))


@style()
def notice(name: str, title: str, reason: str) -> Plot:
    """A figure that says why there is none, for a sweep in which no point carries it."""
    said = f"Not drawn: {reason}"
    data = pd.DataFrame({"figure": [name], "not_drawn": [reason]})
    plot = finish(new_figure(5.0, 0.2), data, title, (said,), name)
    return Plot(plot.figure, data, title, name, said, plot.notes)


def log_ticks(scale: Axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis: powers of ten, and 2 and 5 between where few powers fit."""
    scale.set_minor_locator(NullLocator())
    scale.set_major_formatter(EngFormatter(sep=""))
    if high / low < 300:
        scale.set_major_locator(LogLocator(subs=(1, 2, 5)))


def legend(figure: Figure, entries: Iterable[tuple[str, Artist]]) -> None:
    """One legend for all panels, below them, in as many columns as fit; the figure grows by its height."""
    known = list(entries)
    if not known:
        return
    labels = [label for label, _ in known]
    columns = max(1, min(len(known), int(figure.get_figwidth() * 72 / (max(map(len, labels)) * 4.3 + 34))))
    figure.set_figheight(figure.get_figheight() + 0.08 + math.ceil(len(known) / columns) * 0.16)
    figure.legend([handle for _, handle in known], labels, loc="outside lower center", ncols=columns)


def program_legend(
    figure: Figure, programs: Sequence[str], shown: Collection[str], *, backward: bool, **look: Any
) -> None:
    """The legend of programs that look as ``many_look`` says; open marks stand for backward."""
    looks = {name: many_look(index) for index, name in enumerate(programs) if name in shown}
    entries = [(name, Line2D([], [], **own, **look)) for name, own in looks.items()]
    if backward:
        grey = Line2D([], [], marker="o", color="#444444", markerfacecolor="white", linestyle="none", **look)
        entries.append(("open: backward", grey))
    legend(figure, entries)


def text_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    shares: Sequence[float],
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """A table of wrapped texts as a figure, as wide as a page.

    Args:
        shares: of the page's width, one per column, which sum to 1.
        colours: of cells with exactly this text.
    """
    character, line_height = _CELL_SIZE * 0.56 / 72, _CELL_SIZE * 1.35 / 72
    widths = [max(4, int((share * FULL_WIDTH - 0.1) / character)) for share in shares]
    wrapped = [
        [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for row in (headings, *rows)
    ]
    heights = [max(map(len, row)) * line_height + _CELL_GAP for row in wrapped]
    total = sum(heights) + _CELL_GAP
    figure = new_figure(FULL_WIDTH, total)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(total, 0)
    look: dict[str, Any] = {"fontsize": _CELL_SIZE, "ha": "left", "va": "top", "linespacing": 1.2}
    top = 0.0
    for number, (row, height) in enumerate(zip(wrapped, heights, strict=True)):
        weight = "bold" if number == 0 else "normal"
        left = 0.0
        for lines, share in zip(row, shares, strict=True):
            colour = (colours or {}).get(" ".join(lines), "#222222")
            place = (left, top + _CELL_GAP / 2)
            axes.text(*place, "\n".join(lines), color=colour, fontweight=weight, parse_math=False, **look)
            left += share
        top += height
        axes.plot([0, 1], [top, top], color="#222222" if number == 0 else "#dddddd", linewidth=0.6)
    return figure


def render_svg(figure: Figure) -> bytes:
    """The figure as SVG: text as text, fixed identifiers, no date."""
    stream = io.BytesIO()
    with style():
        FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None, "Creator": "apuflow"})
    return stream.getvalue()


def render_png(figure: Figure, dpi: int = 200) -> bytes:
    """The figure as PNG at ``dpi`` dots per inch."""
    stream = io.BytesIO()
    with style():
        FigureCanvasAgg(figure)
        figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def save(figure: Figure, data: pd.DataFrame, stem: str | Path) -> tuple[Path, Path, Path]:
    """Write a figure and its numbers as ``stem.svg``, ``stem.png`` and ``stem.csv``; all of them or none.

    Returns:
        The three paths.
    """
    base = Path(stem)
    svg, png, csv = (base.with_name(f"{base.name}.{suffix}") for suffix in ("svg", "png", "csv"))
    drawn = render_svg(figure)
    figure.set_layout_engine("none")  # what the SVG's layout has placed stays, and takes no time again
    table = data.to_csv(index=False, lineterminator="\n").encode()
    write_files({svg: drawn, png: render_png(figure), csv: table})
    return svg, png, csv
