"""Make all pictures: ``python data/draw.py`` writes a figure per primitive and those of the README.

Dots and solid lines are gem5's, dashed lines the preview's for the same launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import report_picture
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from apuflow.score.errors import SHAPE, read_tables, recorded, score
from apuflow.score.runs import KEYS
from apuflow_analysis.figures.plot import BLUE, NAMED, VERMILLION, new_figure, render_svg, style

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "gem5_runs/figures"
PICTURES = HERE.parent / "docs/pictures"
MOST_LINES = 8
SHOWN = {
    "softmax_fwd-100x1000x1x1": "softmax forward, 100 x 1000",
    "softmax_bwd-60x100x3x3": "softmax backward, 60 x 100 x 3 x 3",
    "relu_bwd-8x32x28x28": "ReLU backward, 8 x 32 x 28 x 28",
    "pool_avg_fwd-8x8x32x32k2p0s2": "average pooling forward, 8 x 8 x 32 x 32",
    "lrn_bwd-6x16x32x32": "LRN backward, 6 x 16 x 32 x 32",
    "bn_fwd-30x200x1x1": "batch norm forward, 30 x 200",
    "bn_spatial_bwd-6x32x12x12": "spatial batch norm bwd., 6 x 32 x 12 x 12",
    "fc_fwd-32x400x1x1o150": "fully connected forward, 32 x 400 to 150",
}
"""Runs over all compute units, by their ids without that number: their names in the README's picture."""


def runs() -> pd.DataFrame:
    """The recorded runs on the default machine, with ``predicted``, ``units``, ``cycles``, ``line``."""
    frame = score(read_tables(recorded())).frame
    machine = [column for column in frame.columns if column in KEYS and column != "num_compute_units"]
    frame = frame[frame[machine].fillna("").eq("").all(axis=1)].copy()
    shape = [column for column in SHAPE if column in frame.columns]
    frame["line"] = frame[shape].fillna("").astype(str).agg("|".join, axis=1)
    frame["units"] = pd.to_numeric(frame["num_compute_units"])
    frame["cycles"] = pd.to_numeric(frame["gpu_cycles"])
    return frame.sort_values(["line", "units"]).drop_duplicates(["line", "units"])


def draw_line(axes: Axes, rows: pd.DataFrame, measured: str, model: str) -> None:
    """One launch over compute units."""
    axes.plot(rows["units"], rows["cycles"], "-o", color=measured, zorder=3)
    axes.plot(rows["units"], rows["predicted"], "--", color=model, linewidth=1.1, zorder=2)


def dress(axes: Axes, units: Any) -> None:
    """Compute units across, logarithmic; cycles up."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted({int(unit) for unit in units})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(_cycles))


def _cycles(value: float, _: int) -> str:
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value else "0"


def picture(frame: pd.DataFrame, width: float, height: float, columns: int) -> bytes:
    """The README's picture: eight primitives from 1 to 64 compute units; inches, and panels side by side."""
    with style():
        figure = new_figure(width, height)
        panels = figure.subplots(len(SHOWN) // columns, columns).flat
        for axes, (run, title) in zip(panels, SHOWN.items(), strict=True):
            rows = frame[frame["id"] == run + "-u" + frame["units"].astype(str)]
            rows = rows.drop_duplicates("units").sort_values("units")
            draw_line(axes, rows, BLUE, VERMILLION)
            dress(axes, (1, 4, 16, 64))
            axes.set_ylim(0)
            name, shape = title.split(", ")
            axes.set_title(f"{name}\n{shape}", fontsize=8.5, fontweight="normal")
            axes.tick_params(labelsize=8.5)
        figure.supxlabel("compute units", fontsize=9)
        figure.supylabel("GPU cycles", fontsize=9)
        handles = [
            Line2D([], [], color=BLUE, marker="o"),
            Line2D([], [], color=VERMILLION, linestyle="--", linewidth=1.1),
        ]
        names = ["gem5 v23.0.1.0, a run each (seconds to minutes)", "preview, all of them (milliseconds)"]
        figure.legend(handles, names, loc="outside upper left", ncols=columns // 2, fontsize=9)
        return render_svg(figure)


def by_primitive(frame: pd.DataFrame) -> Iterator[tuple[str, bytes]]:
    """For each primitive its name and figure: the launches with most runs, a colour each."""
    for name, rows in frame.groupby("primitive"):
        lines = rows.groupby("line").size().sort_values(ascending=False, kind="stable").index[:MOST_LINES]
        with style():
            figure = new_figure(5.0, 3.0 + 0.16 * len(lines))
            axes = figure.subplots()
            handles, labels = [], []
            for line, colour in zip(lines, NAMED, strict=False):
                launch = rows[rows["line"] == line]
                draw_line(axes, launch, colour, colour)
                handles.append(Line2D([], [], color=colour, marker="o"))
                labels.append(_label(launch.iloc[0]))
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())
            dress(axes, rows.loc[rows["line"].isin(lines), "units"])
            left = rows["line"].nunique() - len(lines)
            more = f" ({left} more launches in the tables)" if left else ""
            axes.set_title(f"{name}{more}\nsolid: gem5 v23.0.1.0; dashed: preview")
            axes.set_xlabel("compute units")
            axes.set_ylabel("GPU cycles")
            figure.legend(handles, labels, loc="outside lower center", ncols=1)
            yield str(name), render_svg(figure)


def _label(run: pd.Series) -> str:
    shape = str(run["id"]).rsplit("-u", 1)[0].removeprefix(f"{run['primitive']}-")
    return shape if str(run["kernel"]) in shape else f"{shape}, {run['kernel']}"


def main() -> None:
    """Write all of it."""
    frame = runs()
    FIGURES.mkdir(exist_ok=True)
    for name, svg in by_primitive(frame):
        (FIGURES / f"{name}.svg").write_bytes(svg)
    (PICTURES / "scaling.svg").write_bytes(picture(frame, 8.6, 4.6, 4))
    (PICTURES / "scaling-narrow.svg").write_bytes(picture(frame, 4.2, 8.2, 2))
    report_picture.write()


if __name__ == "__main__":
    main()
