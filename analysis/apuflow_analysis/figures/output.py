"""Write a figure as SVG and PNG with its numbers beside it; the same numbers give the same bytes."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from apuflow.core.files import write_files
from apuflow_analysis.figures.style import Plot, head, new_figure, style


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
    """Write ``stem.svg``, ``stem.png`` and ``stem.csv``; all of them or none.

    Args:
        figure: from a figure function's ``Plot``.
        data: the numbers that it shows.
        stem: path without extension.

    Returns:
        The three paths.
    """
    base = Path(stem)
    paths = (
        base.with_name(base.name + ".svg"),
        base.with_name(base.name + ".png"),
        base.with_name(base.name + ".csv"),
    )
    table = data.to_csv(index=False, lineterminator="\n").encode()
    drawn = render_svg(figure)
    figure.set_layout_engine("none")  # what the SVG's layout has placed stays, and takes no time again
    write_files({paths[0]: drawn, paths[1]: render_png(figure), paths[2]: table})
    return paths


def notice(name: str, title: str, reason: str) -> Plot:
    """A figure that says why there is none, for a sweep in which no point carries it."""
    with style():
        figure = new_figure(5.0, 0.2)
        head(figure, title, (f"Not drawn: {reason}",))
        return Plot(
            figure,
            pd.DataFrame({"figure": [name], "not_drawn": [reason]}),
            title,
            name,
            f"Not drawn: {reason}",
        )
