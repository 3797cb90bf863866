"""``apuflow stats``: a statistics file, and a run kernel by kernel."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apuflow.commands import RESULTS, group
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    import pandas as pd

    from apuflow.core.record import RunRecord
    from apuflow_analysis.counters.counters import Counters

stats = group("stats", RESULTS, "One run in detail: its statistics file, its kernels.")
GROUPS = ("direction", "layer_kind", "layer")
_SHOWN = ("gpu_cycles", "instructions", "ipc", "occupancy", "valu_utilization", "stall_share_memory")


@stats.command()
def show(
    file: Annotated[Path, typer.Argument(help="A run directory or stats.txt, also packed (.gz, .zst, .xz).")],
    select: Annotated[
        list[str] | None,
        typer.Option("--select", "-s", help="Rows, else counters or metrics: a name or pattern with *."),
    ] = None,
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Show the counters of a statistics file, or the rows that match, and check the file's identities.

    The run.json beside it says how its gem5 counts; without one, what depends on that is unknown (-).
    """
    import pandas as pd

    from apuflow.gem5.stats.reader import read_stats

    file = _statistics(file) if file.is_dir() else file
    record = _record_beside(file)
    cut: str | None = None
    wrong: list[str] = []
    said: list[str] = []
    shown = pd.DataFrame()
    if select:
        dumps = read_stats(file, select=select)
        cut, shown = dumps.cut, dumps.frame()
    if len(shown):
        shown = shown[["dump", "name", "sub", "value", "unit"]]
    else:
        counted = _counted(file, record)
        cut, wrong = counted.cut, [str(broken) for broken in counted.broken]
        said = wrong or ["the file's identities hold"]
        shown = _named(counted, file, record, select) if select else _all(counted)
    give(shown, as_json, csv, lambda: _show(shown))
    for text in (*said, *([f"cut: {cut}"] if cut else [])):
        typer.echo(text, err=True)
    if wrong:
        raise typer.Exit(1)


@stats.command()
def dispatches(
    run: Path = typer.Argument(help="A run directory: of a preview batch, or with statistics per kernel."),
    by: str | None = typer.Option(
        None, help=f"Add up: {', '.join(GROUPS)}; without it one row per dispatch."
    ),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Show a run kernel by kernel, or its phases: forward and backward, per kind of layer, per layer."""
    from apuflow.core.terminal import Entry, stacked, terminal_console
    from apuflow.results.kernels import run_kernels
    from apuflow_analysis.tables.kernels import phases

    if by not in (None, *GROUPS):
        remedy = f"one of {', '.join(GROUPS)}"
        raise ApuflowError("the dispatches cannot be grouped by this", key="--by", value=by, remedy=remedy)
    table, varying = run_kernels(run)
    texts = [*varying, "dispatch", "dispatches", "workgroups", "layer", "direction", "kernel"]
    texts += ["stand_in", "library", "extrapolated"]
    numbers = [*_SHOWN]
    if by is not None:
        points = ["point"] if "point" in table.columns else []
        named, table = table, phases(table, [*points, by])
        if points:
            lacking = [name for name in varying if name not in table.columns]
            table = named.drop_duplicates(points)[[*points, *lacking]].merge(table, on="point")
        texts, numbers = [*varying, by, "dispatches"], ["time_share", *_SHOWN]
    texts = [name for name in texts if name in table.columns and table[name].astype(bool).any()]
    entries = []
    for row in table[[*texts, *numbers]].to_dict("records"):
        told = ", ".join(f"{name} {_cell(row[name])}" for name in texts if row[name] not in ("", None))
        entries.append(Entry(told, [_cell(row[name]) for name in numbers]))
    give(table, as_json, csv, lambda: terminal_console().print(stacked(numbers, entries)))


def _all(counted: Counters) -> pd.DataFrame:
    """Every counter, a row each."""
    import pandas as pd

    from apuflow_analysis.counters.table import BY_NAME

    return pd.DataFrame(
        [(name, value, BY_NAME[name].unit, BY_NAME[name].meaning) for name, value in counted.items()],
        columns=["counter", "value", "unit", "meaning"],
    )


def _named(counted: Counters, file: Path, record: RunRecord | None, patterns: list[str]) -> pd.DataFrame:
    """Counters and metrics of these names, a row each."""
    import pandas as pd

    from apuflow_analysis.metrics import compute
    from apuflow_analysis.tables.columns import layout
    from apuflow_analysis.tables.records import run_values

    machine = {} if record is None else run_values(record)
    described = {c.name: c for c in layout(()) if c.kind in ("counter", "metric")}
    row = compute.compute(pd.DataFrame([{**dict.fromkeys(described), **machine, **dict(counted)}])).iloc[0]
    names = [name for name in described if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not names:
        message = "no row of the statistics matches, and no counter or metric"
        remedy = "`apuflow list metrics` shows counters and metrics"
        raise ApuflowError(message, file=file, key="--select", value=", ".join(patterns), remedy=remedy)
    return pd.DataFrame(
        [(name, float(row[name]), described[name].unit, described[name].meaning) for name in names],
        columns=["name", "value", "unit", "meaning"],
    )


def _statistics(run: Path) -> Path:
    """The statistics file of a run directory."""
    from apuflow.core.record import RunRecord, read

    record = read(run / "run.json")
    files = record.statistics_files(run) if isinstance(record, RunRecord) else ()
    if len(files) != 1:
        remedy = (
            "a preview has none: apuflow stats dispatches shows its kernels; of a failed run see attempts/"
        )
        raise ApuflowError("this run has no statistics file of its own", file=run / "run.json", remedy=remedy)
    return files[0]


def _record_beside(file: Path) -> RunRecord | None:
    """The record beside a statistics file. That of a completed run has its hash, which is checked."""
    from apuflow.core.record import Status, read_run
    from apuflow_analysis.tables.records import check_unchanged

    beside = file.parent / "run.json"
    record = read_run(beside) if beside.is_file() else None
    if record is None or record.status is not Status.COMPLETED:
        return record
    if file.name in [own.name for own in record.statistics_files(file.parent)]:
        check_unchanged(record, beside)
    return record


def _counted(file: Path, record: RunRecord | None) -> Counters:
    """The counters of a file, with every identity that it breaks: some need rows that no counter needs."""
    from apuflow.gem5.stats.reader import iter_dumps
    from apuflow_analysis.counters.counters import counters

    facts = None if record is None else record.release_facts
    return replace(counters(file, facts), broken=counters(iter_dumps(file), facts).broken)


def _show(frame: pd.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in frame.columns:
        number = frame[name].dtype.kind in "if"
        table.add_column(str(name), justify="right" if number else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(_cell(value) for value in row))
    Console().print(table)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() or abs(value) >= 1e4 else f"{value:.4g}"
    return str(value)
