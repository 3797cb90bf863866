"""``apuflow status``: a table of runs, live or once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.core.engines import is_batch
from apuflow.core.units import format_duration, format_memory
from apuflow.core.words import many

if TYPE_CHECKING:
    from rich.text import Text

    from apuflow.run.status import Run


def register(app: typer.Typer) -> None:
    """Add ``apuflow status``."""

    @app.command()
    def status(
        sweep: str = typer.Argument("", help="only points of this sweep as it is now"),
        watch: bool = typer.Option(False, "--watch", "-w", help="show it again and again until nothing runs"),
        every: float = typer.Option(2.0, min=0.2, help="seconds between updates"),
        failed: bool = typer.Option(False, "--failed", help="only failed and lost runs"),
        workload: str = typer.Option("", help="only this workload, or the operations of this suite"),
    ) -> None:
        """Show where all runs stand. Exit status 1 when a run failed or was lost."""
        from rich.console import Console
        from rich.live import Live

        from apuflow.configure.base import check_name
        from apuflow.configure.loading import suite_names, workload_names
        from apuflow.run.status import RunState, all_well, runs

        belongs = _chosen(workload)
        selected = None
        if sweep:
            from apuflow.results.retry import sweep_points

            selected = sweep_points(Path(), sweep)

        def look() -> list[Run]:
            return [
                run
                for run in runs(Path())
                if belongs(run.workload, run.point) and (selected is None or run.key in selected)
            ]

        def shown(all_runs: list[Run]) -> list[Run]:
            return (
                [run for run in all_runs if run.state in (RunState.FAILED, RunState.LOST)]
                if failed
                else all_runs
            )

        console = Console()
        all_runs = look()
        previews = [] if failed else preview_lines(Path(), workload, sweep)
        if workload and not all_runs and not previews:
            check_name(workload, "workload or suite", {*workload_names(), *suite_names()})
        if watch:
            with Live(_table(shown(all_runs)), console=console, refresh_per_second=4) as live:
                while any(run.state is RunState.RUNNING for run in all_runs):
                    time.sleep(every)
                    all_runs = look()
                    live.update(_table(shown(all_runs)))
        elif all_runs:
            console.print(_table(shown(all_runs)), soft_wrap=True)
        for line in previews:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        begun = {run.key for run in all_runs}
        waiting = [
            point for point in (selected or set()) - begun if not is_batch(point[0]) and belongs(*point[1:])
        ]
        if waiting:
            console.print(f"{many(len(waiting), 'point')} of sweep {sweep} without a run yet", markup=False)
        elif not all_runs and not previews:
            console.print("no runs yet: name a target, such as `snakemake --cores 8 results/softmax_fwd.csv`")
        raise typer.Exit(0 if all_well(all_runs) else 1)


def preview_lines(project: Path, workload: str = "", sweep: str = "") -> list[str]:
    """A line for each preview batch of the current model: sweep, workload, points, when.

    Args:
        project: its directory.
        workload, sweep: only this one's.
    """
    from apuflow.core import paths
    from apuflow.core.errors import AnalysisError
    from apuflow.core.record import BatchRecord, read

    lines = []
    for file in sorted(project.glob(paths.preview_record("*", workload or "*"))):
        name = file.parent.name.rpartition(".v")[0]
        if sweep not in ("", name):
            continue
        try:
            record = read(file)
        except AnalysisError as error:
            lines.append(f"preview {file.parent.name}: {error.message}")
            continue
        if isinstance(record, BatchRecord):
            ended = record.ended.replace("T", " ").removesuffix("+00:00")
            lines.append(f"preview {name}/{record.workload}: {many(record.points, 'point')}, {ended}")
    return lines


def _chosen(name: str) -> Callable[[str, str], bool]:
    """Whether a run of a workload's point is selected: by the name of the workload, or of a suite."""
    from apuflow.configure.loading import suite_names, workload_names
    from apuflow.core import paths

    if name in workload_names() or name not in suite_names():
        return lambda workload, _: name in ("", workload)
    from apuflow.results.suites import points_of_suite

    points = points_of_suite(name, Path())
    return lambda workload, point: workload == paths.OPERATIONS and point in points


def _table(shown_runs: Sequence[Run]) -> Text:
    from rich.text import Text

    from apuflow.core.terminal import Entry, stacked
    from apuflow.run.status import RunState

    colours = {RunState.COMPLETED: "green", RunState.PROVEN: "green", RunState.RUNNING: "cyan"}
    entries = []
    for run in shown_runs:
        lower = ">" if run.state is RunState.RUNNING and run.ticks else ""
        words = [] if run.state is RunState.COMPLETED else [run.place, run.detail, str(run.log)]
        cells = (
            str(run.outcome or run.state),
            run.started.replace("T", " ")[:16],
            format_duration(run.seconds),
            "-" if run.ticks is None else f"{lower}{run.ticks:.3g}",
            "-" if run.ticks_per_second is None else f"{lower}{run.ticks_per_second:.2g}",
            "-" if run.memory_bytes is None else format_memory(run.memory_bytes),
        )
        name = "/".join(run.key)
        entries.append(Entry(name, cells, "\n".join(filter(None, words)), colours.get(run.state, "red")))
    states = [run.state for run in shown_runs]
    counts = ", ".join(f"{states.count(state)} {state}" for state in RunState if state in states)
    if not entries:
        return Text(counts)
    return stacked(_HEADINGS, entries, left=2).append(f"\n{counts}")


_HEADINGS = ("state", "started", "time", "ticks", "ticks/s", "memory")
