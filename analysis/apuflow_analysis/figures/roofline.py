"""Roofline: attained throughput against what the machine's units and links allow.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (CACM 2009).
Ceilings, for gem5's GCN3 model: a SIMD starts one wavefront instruction of ``wf_size`` lanes per issue
period (wavefront.cc:1105), a fused multiply-add counts as two operations; matrix cores by AMD's manuals
(``apuflow.core.matrix``), for types that a row computes with them; DRAM's peak as gem5 prints it; a router's
output passes 8 bytes per network cycle, or ``16 * CUs * bw-scalor`` (GPU_VIPER.py:930), in each direction.
Bytes of a link are those of its messages, 72 with a line and 8 without (Network.cc:62), in the
busier direction: what DRAM moves is another number, as the L3 keeps lines and a store to a line that is not
there reads it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from apuflow.core.matrix import matrix_peaks
from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import FigureError, Where, quantity
from apuflow_analysis.figures.selection import Selection, select

MACHINE = ("num_compute_units", "simds_per_cu", "wf_size", "issue_period")


class _Ceiling(NamedTuple):
    """A limit of one machine: operations per second, or bytes per second along a slope.

    Attributes:
        compute: of the vector ALUs. matrix: of the matrix cores, by type.
    """

    label: str
    machine: str
    compute: float
    bandwidth: float
    matrix: tuple[tuple[str, float], ...] = ()

    @property
    def highest(self) -> float:
        """Operations per second of the fastest units."""
        return max(self.compute, *(peak for _, peak in self.matrix), 0.0)


class _Level(NamedTuple):
    """One panel: the column of the intensity, what carries the bytes that count, the colour of its roof."""

    title: str
    intensity: str
    limit: str
    colour: str


_LEVELS = (
    _Level("Per byte of DRAM traffic", "dram", "DRAM", "#8c6d46"),
    _Level("Per byte of the memory link", "link", "memory link", "#333333"),
    _Level("Per byte from TCC to TCPs", "tcc", "TCC to TCP links", "#333333"),
)


@plot.style()
def roofline(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Operations per second over operations per byte, under the machine's ceilings.

    Operations are floating point ones where every row knows them, else active lanes of vector instructions.
    Points of both ends of the axis are joined by a line; rows without traffic have no place and are named.

    Raises:
        FigureError: operations, traffic or machine parameters are missing.
    """
    done = frame[frame["status"] == "completed"]
    known = "flops" in done and len(done) and done["flops"].notna().all()
    counted, unit = ("flops", "flop") if known else ("valu_thread_cycles", "lane op")
    selection = select(frame, [counted, "gpu_time", *MACHINE], x=x, where=where, most=1)
    rows = _throughput(selection, counted)
    levels = [level for level in _LEVELS if _placed(rows, level).any()]
    if not levels:
        key = f"{counted}, dram_bytes_read, tcc_reads"
        raise FigureError("no row has operations and memory traffic", key=key)
    figure = plot.new_figure(plot.FULL_WIDTH, 4.1)
    panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
    numbers: list[pd.DataFrame] = []
    floors, peaks = [], [float(rows["rate"].max())]
    visible: set[str] = set()
    left_out: dict[str, list[str]] = {}
    every = _ceilings(selection, rows, 2 if unit == "flop" else 1)
    for axes, level in zip(panels, levels, strict=True):
        shown = rows[_placed(rows, level)]
        absent = sorted(set(rows["workload"]) - set(shown["workload"]))
        if absent:
            left_out.setdefault(", ".join(absent), []).append(level.title)
        visible |= set(shown["program"])
        _points(axes, selection, shown, level)
        ceilings = [one for one in every if one.label == level.limit]
        floors.append(_draw_ceilings(axes, ceilings, shown, level, unit))
        peaks += [ceiling.highest for ceiling in ceilings]
        numbers += _numbers(shown, ceilings, level)
        axes.set_title(level.title)
        axes.set_xlabel(f"Intensity ({unit}/B)")
    panels[0].set_ylim(min(floors), max(peaks) * 3)
    panels[0].set_ylabel(f"Throughput ({unit}/s)")
    backward = "bwd" in selection.directions
    plot.program_legend(figure, selection.programs, visible, backward=backward, markersize=5)
    notes = list(selection.notes)
    for programs, titles in left_out.items():
        place = "" if len(titles) == len(levels) else f"{' and '.join(titles)}: "
        notes.append(f"{place}no operations or no traffic in {programs}")
    meaning = (
        "floating point, fused ones twice" if unit == "flop" else "active lanes of vector ALU instructions"
    )
    notes.append(f"operations: {meaning}")
    if (across := selection.x) is not None:
        first, last = across.text(across.values[0]), across.text(across.values[-1])
        notes.append(f"small marks and dashed ceilings: {across.label} {first}; large and solid: {last}")
    return plot.finish(figure, pd.concat(numbers, ignore_index=True), "Roofline", notes)


def _placed(rows: pd.DataFrame, level: _Level) -> pd.Series[bool]:
    """Rows that have a place on logarithmic axes."""
    intensity = rows[level.intensity]
    placed: pd.Series[bool] = np.isfinite(intensity) & (intensity > 0) & (rows["rate"] > 0)
    return placed


def _throughput(selection: Selection, counted: str) -> pd.DataFrame:
    """Rows at both ends of the axis with their ``rate`` and intensities."""
    rows, x = selection.rows.assign(_position=0.0), selection.x
    if x is not None:
        rows = rows[rows[x.column].isin((x.values[0], x.values[-1]))]
        rows = rows.assign(_position=[x.positions[value] for value in rows[x.column]])
    rows = rows.sort_values("_position", kind="stable")
    operations = rows[counted].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        dram = operations / _sum(rows, "dram_bytes_read", "dram_bytes_written")
        link = operations / _link_bytes(rows)
        tcc = operations / (DATA_BYTES * _sum(rows, "tcc_reads"))
    return rows.assign(rate=operations / rows["gpu_time"].astype(float), dram=dram, link=link, tcc=tcc)


def _link_bytes(rows: pd.DataFrame) -> pd.Series[float]:
    """Bytes between the GPU's cluster and the directory, in the busier direction."""
    lines_in = _sum(rows, "tcc_read_misses", "tcc_reads_in_flight")
    lines_out = _sum(rows, "tcc_writes", "tcc_atomics")
    outward = DATA_BYTES * lines_out + CONTROL_BYTES * lines_in
    return outward.clip(lower=DATA_BYTES * lines_in)


def _sum(rows: pd.DataFrame, *names: str) -> pd.Series[float]:
    """The sum of columns; NaN where one is unknown."""
    total: pd.Series[float] = rows.reindex(columns=list(names)).astype(float).sum(axis=1, skipna=False)
    return total


def _ceilings(selection: Selection, rows: pd.DataFrame, per_lane: int) -> list[_Ceiling]:
    """The limits at both ends of the axis (of the first row there: a sweep's machines differ along it)."""
    found = []
    for position in dict.fromkeys(rows["_position"]):
        here = rows[rows["_position"] == position]
        row = here.iloc[0]
        clock = float(row["gpu_cycles"]) / float(row["gpu_time"])
        units = float(row["num_compute_units"])
        compute = units * row["simds_per_cu"] * row["wf_size"] / row["issue_period"] * clock * per_lane
        matrix = _matrix(here, units * row["simds_per_cu"] * clock) if per_lane == 2 else ()
        machine = "" if selection.x is None else selection.x.text(row[selection.x.column])
        if "dram_peak_bandwidth" in row and row["dram_peak_bandwidth"] > 0:
            found.append(_Ceiling("DRAM", machine, compute, float(row["dram_peak_bandwidth"]), matrix))
        network = quantity(row["ruby_clock"]) if row.get("ruby_clock") else None
        if network is not None and "bw_scalor" in row and row["bw_scalor"] == row["bw_scalor"]:
            link = 8.0 if row["bw_scalor"] == 0 else 16.0 * units * float(row["bw_scalor"])
            found.append(_Ceiling("memory link", machine, compute, link * network, matrix))
            found.append(_Ceiling("TCC to TCP links", machine, compute, link * network * units, matrix))
    return found


def _matrix(rows: pd.DataFrame, cores: float) -> tuple[tuple[str, float], ...]:
    """Peaks of the matrix cores for types that a row computes with them; ``cores``: their cycles a second."""
    peaks = matrix_peaks(str(rows["gfx"].iloc[0])) if "gfx" in rows else {}
    used = [kind for kind in peaks if (rows.get(f"matrix_flops_{kind}", pd.Series([0.0])) > 0).any()]
    return tuple((kind, float(peaks[kind] * cores)) for kind in used)


def _points(axes: Axes, selection: Selection, shown: pd.DataFrame, level: _Level) -> None:
    last = shown["_position"].max()
    for _, own in shown.groupby(["workload", "engine"], sort=False):
        look = plot.many_look(selection.programs.index(str(own["program"].iloc[0])))
        colour = look["color"]
        face = "white" if own["direction"].iloc[0] == "bwd" else colour
        if len(own) > 1:
            axes.plot(own[level.intensity], own["rate"], color=colour, linewidth=0.6, alpha=0.6, zorder=2)
        for _, row in own.iterrows():
            size = 5.5 if row["_position"] == last else 3
            place = row[level.intensity], row["rate"]
            axes.plot(*place, markersize=size, markerfacecolor=face, markeredgewidth=0.9, zorder=3, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()


def _draw_ceilings(
    axes: Axes, ceilings: list[_Ceiling], shown: pd.DataFrame, level: _Level, unit: str
) -> float:
    """Draw roofs and say below the panel what they are; returns the lowest throughput that it must show."""
    lowest = float(shown["rate"].min()) / 3
    if not ceilings:
        return lowest
    low = float(shown[level.intensity].min()) / 4
    high = max(float(shown[level.intensity].max()) * 4, max(c.highest / c.bandwidth for c in ceilings) * 4)
    axes.set_xlim(low, high)
    last = ceilings[-1].machine
    entries: dict[str, Line2D] = {}
    for label, bandwidth in dict.fromkeys((c.label, c.bandwidth) for c in ceilings):
        own = [c for c in ceilings if (c.label, c.bandwidth) == (label, bandwidth)]
        knee = max(c.highest for c in own) / bandwidth
        look = _roof(level.colour, solid=any(c.machine == last for c in own))
        axes.plot([low, knee], [low * bandwidth, knee * bandwidth], **look)
        entries[f"{label} {_si(bandwidth)}B/s"] = Line2D([], [], **look)
    for compute, machine in {c.compute: c.machine for c in ceilings}.items():
        start = compute / max(c.bandwidth for c in ceilings if c.compute == compute)
        look = _roof(plot.GREY, solid=machine == last)
        axes.plot([start, high], [compute, compute], **look)
        entries[f"VALU peak {_si(compute)}{unit}/s"] = Line2D([], [], **look)
    for (kind, peak), ceiling in {pair: c for c in ceilings for pair in c.matrix}.items():
        look = _roof(plot.GREY, solid=ceiling.machine == last) | {"linewidth": 1.6}
        axes.plot([peak / max(c.bandwidth for c in ceilings), high], [peak, peak], **look)
        entries[f"matrix peak {kind} {_si(peak)}{unit}/s"] = Line2D([], [], **look)
    look = {"loc": "upper left", "bbox_to_anchor": (0, -0.16), "fontsize": 6, "handlelength": 2.6}
    axes.legend(list(entries.values()), list(entries), **look)
    return min(lowest, low * min(c.bandwidth for c in ceilings) * 0.6)


def _roof(colour: str, *, solid: bool) -> dict[str, Any]:
    dash: Any = "-" if solid else (0, (3, 2))
    return {"color": colour, "linewidth": 1.0, "linestyle": dash, "zorder": 1}


def _numbers(shown: pd.DataFrame, ceilings: list[_Ceiling], level: _Level) -> Iterator[pd.DataFrame]:
    """The drawn points and ceilings of a panel."""
    points = shown[["engine", "workload", "point", "num_compute_units", level.intensity, "rate"]]
    points = points.rename(columns={level.intensity: "intensity", "rate": "throughput"})
    yield points.assign(panel=level.title, kind="point")
    if ceilings:
        roofs = [(c.label, c.machine, c.compute, c.bandwidth) for c in ceilings]
        roofs += [
            (f"matrix {kind}", c.machine, peak, c.bandwidth) for c in ceilings for kind, peak in c.matrix
        ]
        limits = pd.DataFrame(roofs, columns=["ceiling", "machine", "throughput", "bandwidth"])
        yield limits.assign(panel=level.title, kind="ceiling")


def _si(value: float) -> str:
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
