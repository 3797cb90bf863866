"""Roofline: attained throughput against what the machine's units and links allow.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (CACM 2009).
Ceilings, for gem5's GCN3 model: a SIMD starts one wavefront instruction of ``wf_size`` lanes per issue
period (wavefront.cc:1105), a fused multiply-add counts as two operations; DRAM's peak as gem5 prints it; a
router's output passes 8 bytes per network cycle, or ``16 * CUs * bw-scalor`` (GPU_VIPER.py:930), in each
direction. Bytes of a link are those of its messages, 72 with a line and 8 without (Network.cc:62), in the
busier direction: what DRAM moves is another number, as the L3 keeps lines and a store to a line that is not
there reads it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow_analysis.figures.axis import quantity
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.selection import DIRECTIONS, Selection, select
from apuflow_analysis.figures.style import FULL_WIDTH, GREY, Plot, head, legend, many_look, new_figure, style

_ROOFS = {"DRAM": "#8c6d46", "memory link": "#333333", "TCC to TCP links": "#333333"}

MACHINE = ("num_compute_units", "simds_per_cu", "wf_size", "issue_period")


@dataclass(frozen=True)
class Ceiling:
    """A limit of one machine: operations per second, or bytes per second along a slope."""

    label: str
    machine: str
    compute: float
    bandwidth: float


@dataclass(frozen=True)
class Level:
    """One panel: which bytes count and what carries them."""

    title: str
    intensity: str
    limit: str


_LEVELS = (
    Level("Per byte of DRAM traffic", "dram", "DRAM"),
    Level("Per byte of the memory link", "link", "memory link"),
    Level("Per byte from TCC to TCPs", "tcc", "TCC to TCP links"),
)


def roofline(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Operations per second over operations per byte, under the machine's ceilings.

    Operations are floating point ones where every row knows them, else active lanes of vector instructions.
    Points stand at both ends of the axis, joined by a line; rows without traffic have no place and are named.

    Raises:
        FigureError: operations, traffic or machine parameters are missing.
    """
    with style():
        counted, unit = _operations(frame)
        selection = select(frame, [counted, "gpu_time", *MACHINE], x=x, where=where, most=1)
        rows = _throughput(selection, counted)
        levels = [level for level in _LEVELS if _placed(rows, level).any()]
        if not levels:
            raise FigureError(
                "no row has operations and memory traffic", key=f"{counted}, dram_bytes_read, tcc_reads"
            )
        figure = new_figure(FULL_WIDTH, 4.1)
        panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
        numbers, floors, peaks = [], [], [float(rows["rate"].max())]
        notes = list(selection.notes)
        visible: set[str] = set()
        left_out: dict[str, list[str]] = {}
        for axes, level in zip(panels, levels, strict=True):
            shown = rows[_placed(rows, level)]
            absent = sorted(set(rows["workload"]) - set(shown["workload"]))
            if absent:
                left_out.setdefault(", ".join(absent), []).append(level.title)
            visible |= set(shown["program"])
            _points(axes, selection, shown, level)
            ceilings = [
                c for c in _ceilings(selection, rows, 2 if unit == "flop" else 1) if c.label == level.limit
            ]
            floors.append(_draw_ceilings(axes, ceilings, shown, level, unit))
            peaks += [ceiling.compute for ceiling in ceilings]
            numbers += [_point_rows(shown, level), _ceiling_rows(ceilings, level)]
            axes.set_title(level.title)
            axes.set_xlabel(f"Intensity ({unit}/B)")
        panels[0].set_ylim(min(floors), max(peaks) * 3)
        panels[0].set_ylabel(f"Throughput ({unit}/s)")
        _legend(figure, selection, visible)
        for programs, titles in left_out.items():
            place = "" if len(titles) == len(levels) else f"{' and '.join(titles)}: "
            notes.append(f"{place}no operations or no traffic in {programs}")
        notes.append(
            "operations: "
            + (
                "floating point, fused ones twice"
                if unit == "flop"
                else "active lanes of vector ALU instructions"
            )
        )
        if selection.x is not None:
            ends = (selection.x.text(selection.x.values[0]), selection.x.text(selection.x.values[-1]))
            notes.append(
                f"small marks and dashed ceilings: {selection.x.label} {ends[0]}; large and solid: {ends[1]}"
            )
        title = "Roofline"
        head(figure, title, notes)
        return Plot(figure, pd.concat(numbers, ignore_index=True), title, notes=tuple(notes))


def _placed(rows: pd.DataFrame, level: Level) -> pd.Series[bool]:
    """Rows that have a place on logarithmic axes."""
    intensity = rows[level.intensity]
    placed: pd.Series[bool] = np.isfinite(intensity) & (intensity > 0) & (rows["rate"] > 0)
    return placed


def _operations(frame: pd.DataFrame) -> tuple[str, str]:
    done = frame[frame["status"] == "completed"] if "status" in frame else frame
    if "flops" in done and len(done) and done["flops"].notna().all():
        return "flops", "flop"
    return "valu_thread_cycles", "lane op"


def _throughput(selection: Selection, counted: str) -> pd.DataFrame:
    rows = selection.rows
    if selection.x is not None:
        ends = (selection.x.values[0], selection.x.values[-1])
        rows = rows[rows[selection.x.column].isin(ends)]
        rows = rows.assign(_position=[selection.x.positions[value] for value in rows[selection.x.column]])
    else:
        rows = rows.assign(_position=0.0)
    rows = rows.sort_values("_position", kind="stable")
    operations = rows[counted].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        dram = operations / _sum(rows, ("dram_bytes_read", "dram_bytes_written"))
        link = operations / _link_bytes(rows)
        tcc = operations / (DATA_BYTES * _sum(rows, ("tcc_reads",)))
    return rows.assign(rate=operations / rows["gpu_time"].astype(float), dram=dram, link=link, tcc=tcc)


def _link_bytes(rows: pd.DataFrame) -> pd.Series[float]:
    """Bytes between the GPU's cluster and the directory, in the busier direction."""
    lines_in = _sum(rows, ("tcc_read_misses", "tcc_reads_in_flight"))
    lines_out = _sum(rows, ("tcc_writes", "tcc_atomics"))
    outward = DATA_BYTES * lines_out + CONTROL_BYTES * lines_in
    return outward.clip(lower=DATA_BYTES * lines_in)


def _sum(rows: pd.DataFrame, names: tuple[str, ...]) -> pd.Series[float]:
    total = pd.Series(0.0, index=rows.index)
    for name in names:
        total = total + (rows[name].astype(float) if name in rows.columns else np.nan)
    return total


def _ceilings(selection: Selection, rows: pd.DataFrame, per_lane: int) -> list[Ceiling]:
    """The limits at both ends of the axis (of the first row there: a sweep's machines differ along it)."""
    found = []
    for position in dict.fromkeys(rows["_position"]):
        row = rows[rows["_position"] == position].iloc[0]
        clock = float(row["gpu_cycles"]) / float(row["gpu_time"])
        units = float(row["num_compute_units"])
        compute = units * row["simds_per_cu"] * row["wf_size"] / row["issue_period"] * clock * per_lane
        machine = "" if selection.x is None else selection.x.text(row[selection.x.column])
        if "dram_peak_bandwidth" in row and row["dram_peak_bandwidth"] > 0:
            found.append(Ceiling("DRAM", machine, compute, float(row["dram_peak_bandwidth"])))
        network = quantity(row["ruby_clock"]) if row.get("ruby_clock") else None
        if network is not None and "bw_scalor" in row and row["bw_scalor"] == row["bw_scalor"]:
            link = 8.0 if row["bw_scalor"] == 0 else 16.0 * units * float(row["bw_scalor"])
            found.append(Ceiling("memory link", machine, compute, link * network))
            found.append(Ceiling("TCC to TCP links", machine, compute, link * network * units))
    return found


def _points(axes: Axes, selection: Selection, shown: pd.DataFrame, level: Level) -> None:
    last = shown["_position"].max()
    for _, own in shown.groupby(["workload", "engine"], sort=False):
        colour, marker = _look(selection, str(own["program"].iloc[0]))
        face = "white" if own["direction"].iloc[0] == "bwd" else colour
        if len(own) > 1:
            axes.plot(own[level.intensity], own["rate"], color=colour, linewidth=0.6, alpha=0.6, zorder=2)
        for _, row in own.iterrows():
            axes.plot(
                row[level.intensity],
                row["rate"],
                marker=marker,
                markersize=5.5 if row["_position"] == last else 3,
                color=colour,
                markerfacecolor=face,
                markeredgewidth=0.9,
                linestyle="none",
                zorder=3,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()


def _draw_ceilings(
    axes: Axes, ceilings: list[Ceiling], shown: pd.DataFrame, level: Level, unit: str
) -> float:
    """Draw roofs and say below the panel what they are; returns the lowest throughput that it must show."""
    lowest = float(shown["rate"].min()) / 3
    if not ceilings:
        return lowest
    low = float(shown[level.intensity].min()) / 4
    high = max(float(shown[level.intensity].max()) * 4, max(c.compute / c.bandwidth for c in ceilings) * 4)
    axes.set_xlim(low, high)
    last = ceilings[-1].machine
    entries: dict[str, Line2D] = {}
    for label, bandwidth in dict.fromkeys((c.label, c.bandwidth) for c in ceilings):
        own = [c for c in ceilings if (c.label, c.bandwidth) == (label, bandwidth)]
        knee = max(c.compute for c in own) / bandwidth
        look = _roof(_ROOFS[label], solid=any(c.machine == last for c in own))
        axes.plot([low, knee], [low * bandwidth, knee * bandwidth], **look)
        entries[f"{label} {_si(bandwidth)}B/s"] = Line2D([], [], **look)
    for compute, machine in {c.compute: c.machine for c in ceilings}.items():
        start = compute / max(c.bandwidth for c in ceilings if c.compute == compute)
        look = _roof(GREY, solid=machine == last)
        axes.plot([start, high], [compute, compute], **look)
        entries[f"VALU peak {_si(compute)}{unit}/s"] = Line2D([], [], **look)
    axes.legend(
        list(entries.values()),
        list(entries),
        loc="upper left",
        bbox_to_anchor=(0, -0.16),
        fontsize=6,
        handlelength=2.6,
    )
    return min(lowest, low * min(c.bandwidth for c in ceilings) * 0.6)


def _roof(colour: str, *, solid: bool) -> dict[str, Any]:
    dash: Any = "-" if solid else (0, (3, 2))
    return {"color": colour, "linewidth": 1.0, "linestyle": dash, "zorder": 1}


def _look(selection: Selection, program: str) -> tuple[str, str]:
    return many_look(selection.programs.index(program))


def _legend(figure: Any, selection: Selection, shown: set[str]) -> None:
    handles, labels = [], []
    for program in (name for name in selection.programs if name in shown):
        colour, marker = _look(selection, program)
        handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5))
        labels.append(program)
    if "bwd" in selection.directions:
        handles.append(
            Line2D(
                [], [], color="#444444", marker="o", markerfacecolor="white", linestyle="none", markersize=5
            )
        )
        labels.append(f"open: {DIRECTIONS['bwd']}")
    legend(figure, handles, labels)


def _point_rows(shown: pd.DataFrame, level: Level) -> pd.DataFrame:
    data = shown[["engine", "workload", "point", "num_compute_units", level.intensity, "rate"]]
    return data.rename(columns={level.intensity: "intensity", "rate": "throughput"}).assign(
        panel=level.title, kind="point"
    )


def _ceiling_rows(ceilings: list[Ceiling], level: Level) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "panel": level.title,
                "kind": "ceiling",
                "ceiling": c.label,
                "machine": c.machine,
                "throughput": c.compute,
                "bandwidth": c.bandwidth,
            }
            for c in ceilings
        ]
    )


def _si(value: float) -> str:
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
