"""A sweep's plan as tables on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from apuflow.core.engines import SIMULATING
from apuflow.core.units import format_duration, format_memory
from apuflow.study.plan import PlannedWorkload, SweepPlan
from apuflow.study.terminal import terminal_console

MAX_ROWS = 200
"""Points that are listed one by one."""


def show(plan: SweepPlan, every_point: bool, console: Console | None = None) -> None:
    """Print the plan; ``every_point``: also each point with its axes and status."""
    out = console or terminal_console()
    out.print(f"{plan.sweep}: {plan.description}", highlight=False, markup=False)
    out.print(f"machine {plan.machine}, gem5 {plan.release}", highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("workload", "engine"):
        table.add_column(heading, no_wrap=True)
    for heading in ("points", "done", "failed", "one run", "left", "memory"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in plan.workloads:
        table.add_row(
            each.workload,
            each.engine,
            str(len(each.points)),
            str(each.done),
            str(each.failed) if each.failed else "",
            _range(each),
            _left(each),
            format_memory(each.memory_bytes) if each.memory_bytes else "",
        )
    out.print(table)
    _totals(plan, out)
    for basis in dict.fromkeys(each.basis for each in plan.workloads):
        out.print(f"estimate: {basis}", highlight=False, markup=False)
    warned: dict[str, list[str]] = {}
    for each in plan.workloads:
        for warning in each.warnings:
            warned.setdefault(warning, []).append(each.workload)
    for warning, names in warned.items():
        out.print(f"warning: {', '.join(dict.fromkeys(names))}: {warning}", highlight=False, markup=False)
    if every_point:
        for each in plan.workloads:
            _points(each, out)


def _left(each: PlannedWorkload) -> str:
    if each.total_seconds is None:
        return "" if each.engine not in SIMULATING else "?"
    if not each.total_seconds:
        return "-"
    return ("> " if each.at_least else "") + format_duration(each.total_seconds)


def _range(each: PlannedWorkload) -> str:
    if each.seconds is None:
        return ""
    low, high = (format_duration(value) for value in each.seconds)
    return ("> " if each.at_least else "") + (low if low == high else f"{low} to {high}")


def _totals(plan: SweepPlan, out: Console) -> None:
    points = sum(len(each.points) for each in plan.workloads)
    done = sum(each.done for each in plan.workloads)
    seconds = [each.total_seconds for each in plan.workloads if each.total_seconds is not None]
    line = f"{points} points, {done} done"
    if sum(seconds) > 0:
        line += f"; {format_duration(sum(seconds))} of one core's time for the rest"
    out.print(line, highlight=False, style="bold")


def _points(each: PlannedWorkload, out: Console) -> None:
    names = list(dict.fromkeys(name for point in each.points for name in point.axes))
    title = f"{each.workload} on {each.engine}"
    table = Table(box=None, header_style="bold", title=title, title_justify="left", pad_edge=False)
    for heading in ("point", *names, "status"):
        table.add_column(heading, overflow="fold")
    for point in each.points[:MAX_ROWS]:
        values = (str(point.axes.get(name, "")) for name in names)
        table.add_row(point.id, *values, point.status or "to run")
    out.print(table)
    if len(each.points) > MAX_ROWS:
        out.print(f"... and {len(each.points) - MAX_ROWS} more (--json lists all)", highlight=False)
