"""A sweep's plan as tables on the terminal."""

from __future__ import annotations

from rich.console import Console

from apuflow.core.engines import is_batch
from apuflow.core.terminal import table_of, terminal_console
from apuflow.core.units import format_duration, format_memory
from apuflow.core.words import many
from apuflow.preflight.plan import SweepPlan
from apuflow.preflight.workload import ESTIMATED_POINTS, PlannedWorkload

MAX_ROWS = 200
"""Points that are listed one by one."""


def show(plan: SweepPlan, every_point: bool, console: Console | None = None) -> None:
    """Print the plan; ``every_point``: also each point with its axes and status."""
    out = console or terminal_console()
    out.print(f"{plan.sweep}: {plan.description}")
    out.print(f"machine {plan.machine}, gem5 {plan.release}")
    table = table_of(("workload", "engine"), ("points", "done", "failed", "one run", "left", "memory"))
    for workload in plan.workloads:
        table.add_row(
            workload.workload,
            workload.engine,
            str(len(workload.points)),
            str(workload.done),
            str(workload.failed) if workload.failed else "",
            _range(workload),
            _left(workload),
            format_memory(workload.memory_bytes) if workload.memory_bytes else "",
        )
    out.print(table)
    _totals(plan, out)
    if plan.obstacle:
        out.print(f"cannot run here: {plan.obstacle}", style="bold red")
    notes = {
        "sample": [plan.sampling],
        "workgroups": [plan.workgroups],
        "matrix products": plan.products,
        "first": plan.preparations,
    }
    for name, texts in notes.items():
        for text in filter(None, texts):
            out.print(f"{name}: {text}")
    outside = sum(workload.unmeasured or 0 for workload in plan.workloads)
    if outside:
        sizes = [len(w.points) for w in plan.workloads if w.unmeasured is not None]
        previewed, about = sum(sizes), "about " if max(sizes) > ESTIMATED_POINTS else ""
        out.print(
            f"{about}{outside:,} of {previewed:,} preview points lie outside what the preview was measured "
            "on: their rows say so in flags, with a wide interval (gpu_cycles_low to gpu_cycles_high)"
        )
    for basis in dict.fromkeys(workload.basis for workload in plan.workloads):
        out.print(f"estimate: {basis}")
    for workload in plan.workloads:
        if workload.batches:
            out.print(_jobs(workload))
    warned: dict[str, list[str]] = {}
    for workload in plan.workloads:
        for warning in workload.warnings:
            warned.setdefault(warning, []).append(workload.workload)
    for warning, names in warned.items():
        out.print(f"warning: {', '.join(dict.fromkeys(names))}: {warning}")
    if plan.unused:
        patterns, why = ", ".join(plan.unused), "none of the sweep's workloads is called so"
        out.print(f"warning: per_workload has {patterns}: {why}, and nothing of it holds")
    for workload in plan.workloads if every_point else ():
        _points(workload, out)


def _jobs(workload: PlannedWorkload) -> str:
    """How the points that are left would be divided into a cluster's jobs."""
    batches, left = workload.batches, len(workload.points) - workload.done - sum(workload.batches)
    alone = f" and {left} of one point" if left > 0 else ""
    return (
        f"on a cluster: {workload.workload} on {workload.engine} in "
        f"{many(len(batches), 'job')} of up to {max(batches)} points{alone} (site.yaml, batch)"
    )


def _left(workload: PlannedWorkload) -> str:
    if workload.total_seconds is None:
        return "" if is_batch(workload.engine) else "?"
    if not workload.total_seconds:
        return "-"
    return ("> " if workload.at_least else "") + format_duration(workload.total_seconds)


def _range(workload: PlannedWorkload) -> str:
    if workload.seconds is None:
        return ""
    low, high = (format_duration(value) for value in workload.seconds)
    return ("> " if workload.at_least else "") + (low if low == high else f"{low} to {high}")


def _totals(plan: SweepPlan, out: Console) -> None:
    points = sum(len(workload.points) for workload in plan.workloads)
    done = sum(workload.done for workload in plan.workloads)
    seconds = [workload.total_seconds for workload in plan.workloads if workload.total_seconds is not None]
    line = f"{many(points, 'point')}, {done} done"
    if sum(seconds) > 0:
        line += f"; {format_duration(sum(seconds))} of one core's time for the rest"
    out.print(line, style="bold")


def _points(workload: PlannedWorkload, out: Console) -> None:
    names = list(dict.fromkeys(name for point in workload.points for name in point.axes))
    table = table_of((), (), ("point", *names, "status"))
    table.title, table.title_justify = f"{workload.workload} on {workload.engine}", "left"
    for point in workload.points[:MAX_ROWS]:
        values = (str(point.axes.get(name, "")) for name in names)
        table.add_row(point.id, *values, point.status or "to run")
    out.print(table)
    if len(workload.points) > MAX_ROWS:
        out.print(f"... and {len(workload.points) - MAX_ROWS} more (--json and --csv list all)")
