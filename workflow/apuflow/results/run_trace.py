"""A run of gem5 over time: kernels, workgroups on compute units, and what each dump of statistics counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.record import RunRecord
from apuflow.results.trace_events import Span, Trace, in_lanes
from apuflow.run.kernel_trace import read_workgroups
from apuflow_analysis.counters.counters import Counters, counted, file_counters, since_reset
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.records import COMPLETED, check_unchanged, run_values

COUNTS: dict[str, tuple[str, ...]] = {
    "DRAM (bytes per second)": ("dram_read_bandwidth", "dram_write_bandwidth"),
    "TCC (accesses per cycle and bank)": ("l2_accesses_per_cycle",),
    "TCC hit rate": ("tcc_hit_rate",),
    "stalls (share of slot cycles)": tuple(n for n in compute.NAMES if n.startswith("stall_share_")),
    "occupancy": ("occupancy",),
    "IPC of a compute unit": ("ipc",),
}
"""Tracks of counters, and the metrics that each shows."""


def run_trace(directory: Path, record: RunRecord, workgroups: Path | None = None) -> Trace:
    """The trace of a run.

    Args:
        workgroups: gem5's trace with the debug flag ``GPUWgLatency``; None: without workgroups.

    Raises:
        AnalysisError: the run did not complete, its statistics were changed, or the trace has no workgroups.
    """
    file = directory / "run.json"
    if record.status != COMPLETED:
        raise AnalysisError(
            "the run did not complete: there is no time to show",
            file=file,
            key="status",
            value=record.status.value,
            remedy="give a run that completed",
        )
    check_unchanged(record, file)
    dumps = [
        counted(dump, record.release_facts)
        for path in record.statistics_files(directory)
        for dump in since_reset(file_counters(path)[0], record.release_facts, path)
    ]
    windows = _windows(dumps)
    trace = Trace()
    process = trace.process(f"{record.engine}: {record.workload} {record.point}")
    for k, lane in enumerate(in_lanes(_kernels(record, dumps, windows))):
        trace.track(process, "kernels" if k == 0 else f"kernels, {k + 1}", lane)
    trace.track(process, "dumps of statistics", _dump_spans(dumps, windows))
    if workgroups is not None:
        _add_workgroups(trace, workgroups)
    _add_counters(trace, process, record, dumps, windows)
    return trace


def _windows(dumps: Sequence[Counters]) -> list[tuple[float, float]]:
    """Ticks between which each dump counts. Files of several processes follow one another."""
    found: list[tuple[float, float]] = []
    for dump in dumps:
        last = found[-1][1] if found else 0.0
        began = dump.began if math.isfinite(dump.began) and dump.began >= last else last
        found.append((began, began + dump["sim_ticks"]))
    return found


def _kernels(
    record: RunRecord, dumps: Sequence[Counters], windows: Sequence[tuple[float, float]]
) -> Iterator[Span]:
    """The kernels: from gem5's trace of dispatches, else the active time at the end of each dump with one."""
    names = [launch.kernel for launch in record.launches]
    traced = [one for one in record.dispatches if one.launched is not None and one.completed is not None]
    if traced:
        for k, one in enumerate(traced):
            name = names[k] if len(names) == len(traced) else one.name
            details = {"grid": "x".join(map(str, one.grid)), "submitted_us": one.submitted / 1e6}
            yield Span(name, float(one.launched or 0), float(one.completed or 0), details)
        return
    launching = [k for k, dump in enumerate(dumps) if dump["kernels_launched"] > 0]
    for order, k in enumerate(launching):
        name = names[order] if len(names) == len(launching) else f"kernel {order}"
        ended = windows[k][1]
        began = max(windows[k][0], ended - dumps[k]["gpu_active_ticks"])
        yield Span(name, began, ended, {"time": "the GPU's active time, put at the end of its dump"})


def _dump_spans(dumps: Sequence[Counters], windows: Sequence[tuple[float, float]]) -> Iterator[Span]:
    for k, (dump, window) in enumerate(zip(dumps, windows, strict=True)):
        details = {"kernels": dump["kernels_launched"], "gpu_cycles": dump["gpu_cycles"]}
        known = {name: value for name, value in details.items() if math.isfinite(value)}
        yield Span(f"dump {k}", *window, known)


def _add_workgroups(trace: Trace, file: Path) -> None:
    spans = read_workgroups(file)
    if not spans:
        remedy = "have gem5 write it: --debug-flags=GPUKernelInfo,GPUCommandProc,GPUWgLatency"
        raise AnalysisError("the trace tells of no workgroup", file=file, key="--workgroups", remedy=remedy)
    process = trace.process("compute units")
    for unit in sorted({one.unit for one in spans}):
        own = [
            Span(f"workgroup {one.workgroup}", one.began, one.ended, {"kernel": one.kernel})
            for one in spans
            if one.unit == unit
        ]
        for k, lane in enumerate(in_lanes(own)):
            trace.track(process, f"CU {unit}, slot {k}", lane)


def _add_counters(
    trace: Trace,
    process: int,
    record: RunRecord,
    dumps: Sequence[Counters],
    windows: Sequence[tuple[float, float]],
) -> None:
    """A step per dump; gaps and the end are 0. What is not known has no step."""
    frame = compute.compute(pd.DataFrame([{**run_values(record), **dump} for dump in dumps]))
    for title, metrics in COUNTS.items():
        rows = frame[[*metrics]].to_dict("records")
        steps = [{str(m): float(v) for m, v in row.items() if math.isfinite(v)} for row in rows]
        if not any(steps):
            continue
        named = dict.fromkeys((name for step in steps for name in step), 0.0)
        begins = [*(window[0] for window in windows[1:]), math.inf]
        for window, step, following in zip(windows, steps, begins, strict=True):
            trace.counter(process, title, window[0], named | step)
            if following > window[1]:
                trace.counter(process, title, window[1], named)
