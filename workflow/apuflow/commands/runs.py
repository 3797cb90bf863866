"""``apuflow plan``, ``status`` and ``retry``: a sweep's points, their runs, another try of failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from apuflow.commands import ASK, app, complete
from apuflow.commands.output import Csv, Json, give
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.units import format_duration, format_memory
from apuflow.core.words import many

if TYPE_CHECKING:
    from rich.text import Text

    from apuflow.run.status import Run


@app.command(rich_help_panel=ASK)
def plan(
    sweep: str = typer.Argument(
        help="name of a sweep: a file of configs/sweeps without .yaml", autocompletion=complete.sweep
    ),
    workload: str = typer.Argument(
        "", help="show only this workload, with every point", autocompletion=complete.workload
    ),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Show a sweep's points, what is already there, and an estimate of time and memory."""
    from apuflow.preflight.plan import plan_sweep
    from apuflow.preflight.text import show

    result = plan_sweep(sweep, workload or None, Path())
    rows = result.point_rows() if workload else result.rows()
    give(rows, as_json, csv, lambda: show(result, every_point=bool(workload)))


@app.command(rich_help_panel=ASK)
def retry(
    sweep: str = typer.Argument(
        "", help="only points of this sweep; default: every recorded failure", autocompletion=complete.sweep
    ),
    workload: str = typer.Option("", help="only this workload", autocompletion=complete.workload),
    status: list[str] | None = typer.Option(None, help="only this outcome, such as timeout; may be repeated"),
    dry_run: bool = typer.Option(False, "--dry-run", "-n", help="list them and change nothing"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Allow failed points of sweeps with `on_failure: record` another try. Logs and evidence stay."""
    from apuflow.results.retry import recorded_failures, release_for_rerun

    chosen = list(
        recorded_failures(Path(), sweep=sweep or None, workload=workload or None, outcomes=status or ())
    )

    def show() -> None:
        for run in chosen:
            typer.echo(f"{run.outcome:20} {run.engine}/{run.workload}/{run.point}: {run.detail[:100]}")

    names = ("engine", "workload", "point", "outcome", "detail")
    give([{name: str(getattr(run, name)) for name in names} for run in chosen], as_json, csv, show)
    for run in () if dry_run else chosen:
        release_for_rerun(Path(), run)
    if not chosen:
        said = "no recorded failure"
    elif dry_run:
        said = f"{len(chosen)} would be tried again"
    else:
        said = (
            f"{len(chosen)} will be tried again when the workflow is started once more; "
            "tables, figures and reports that showed them are made again"
        )
    typer.echo(said, err=as_json)


@app.command(rich_help_panel=ASK)
def status(
    sweep: str = typer.Argument(
        "", help="only points of this sweep as it is now", autocompletion=complete.sweep
    ),
    watch: bool = typer.Option(False, "--watch", "-w", help="show it again and again until nothing runs"),
    every: float = typer.Option(2.0, min=0.2, help="seconds between updates"),
    failed: bool = typer.Option(False, "--failed", help="only failed and lost runs"),
    workload: str = typer.Option(
        "",
        help="only this workload, or the operations of this suite",
        autocompletion=complete.workloads_and_suites,
    ),
    as_json: Json = False,
    csv: Csv = None,
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
        found = [run for run in runs(Path()) if belongs(run.workload, run.point)]
        return [run for run in found if selected is None or run.key in selected]

    def shown() -> list[Run]:
        lost = (RunState.FAILED, RunState.LOST)
        return [run for run in all_runs if not failed or run.state in lost]

    console = Console(stderr=as_json)
    all_runs = look()
    previews = [] if failed else list(_previews(Path(), workload, sweep))
    if workload and not all_runs and not previews:
        check_name(workload, "workload or suite", {*workload_names(), *suite_names()})
    if watch:
        with Live(_table(shown()), console=console, refresh_per_second=4) as live:
            while any(run.state is RunState.RUNNING for run in all_runs):
                time.sleep(every)
                all_runs = look()
                live.update(_table(shown()))
    give(
        [*(_row(run) for run in shown()), *(batch.row for batch in previews)],
        as_json,
        csv,
        lambda: None if watch or not all_runs else console.print(_table(shown()), soft_wrap=True),
    )
    for batch in previews:
        console.print(batch.line, highlight=False, markup=False, soft_wrap=True)
    left = (selected or set()) - {run.key for run in all_runs}
    waiting = [point for point in left if not is_batch(point[0]) and belongs(*point[1:])]
    if waiting:
        console.print(f"{many(len(waiting), 'point')} of sweep {sweep} without a run yet", markup=False)
    elif not all_runs and not previews:
        console.print("no runs yet: name a target, such as `snakemake --cores 8 results/softmax_fwd.csv`")
    raise typer.Exit(0 if all_well(all_runs) else 1)


def _row(run: Run) -> dict[str, Any]:
    names = ("started", "seconds", "ticks", "ticks_per_second", "memory_bytes", "place", "detail")
    about = {"engine": run.engine, "workload": run.workload, "point": run.point}
    about |= {"state": str(run.state), "outcome": str(run.outcome)}
    return about | {name: getattr(run, name) for name in names} | {"log": str(run.log)}


class _Preview(NamedTuple):
    """A preview of a sweep's points: as a line, and as a row of the table of runs."""

    line: str
    row: dict[str, Any]


def _previews(project: Path, workload: str, sweep: str) -> Iterator[_Preview]:
    """Each preview batch of the current model, or of this workload or sweep."""
    from apuflow.core.errors import AnalysisError
    from apuflow.core.record import BatchRecord, read

    for file in sorted(project.glob(paths.preview_record("*", workload or "*"))):
        name = file.parent.name.rpartition(".v")[0]
        if sweep not in ("", name):
            continue
        try:
            record = read(file)
        except AnalysisError as error:
            about = {"engine": "preview", "workload": file.parent.parent.name, "point": name}
            row = about | {"state": "failed", "detail": error.message}
            yield _Preview(f"preview {file.parent.name}: {error.message}", row)
            continue
        if isinstance(record, BatchRecord):
            ended, points = (
                record.ended.replace("T", " ").removesuffix("+00:00"),
                many(record.points, "point"),
            )
            about = {
                "engine": record.engine,
                "workload": record.workload,
                "point": name,
                "state": "completed",
            }
            row = about | {"started": record.started, "place": str(file.parent), "detail": points}
            yield _Preview(f"preview {name}/{record.workload}: {points}, {ended}", row)


def _chosen(name: str) -> Callable[[str, str], bool]:
    """Whether a run of a workload's point is selected: by the name of the workload, or of a suite."""
    from apuflow.configure.loading import suite_names, workload_names

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
        below = "\n".join(filter(None, words))
        entries.append(Entry("/".join(run.key), cells, below, colours.get(run.state, "red")))
    states = [run.state for run in shown_runs]
    counts = ", ".join(f"{states.count(state)} {state}" for state in RunState if state in states)
    if not entries:
        return Text(counts)
    headings = ("state", "started", "time", "ticks", "ticks/s", "memory")
    return stacked(headings, entries, left=2).append(f"\n{counts}")
