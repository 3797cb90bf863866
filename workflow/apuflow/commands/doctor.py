"""``apuflow doctor``: what this machine has and lacks, with the fix; whether its gem5 counts as recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import START, app, complete
from apuflow.commands.output import Csv, Json, give
from apuflow.core import paths
from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    from apuflow.core.engines import EngineName
    from apuflow.prepare.doctor import Check


@app.command(rich_help_panel=START)
def doctor(
    name: str = typer.Argument("", metavar="[ENGINE]", help="with --prove or --record: engine that runs"),
    release: str = typer.Option(
        "",
        help="name of a gem5 release: a file of configs/gem5 without .yaml; default: the default sweep's",
        autocompletion=complete.release,
    ),
    engine: str = typer.Option("gem5", help="whose readiness the exit status tells: gem5, gem5-kernels"),
    offline: bool = typer.Option(
        False, "--offline", help="do not contact source repositories and registries"
    ),
    prove: bool = typer.Option(
        False, "--prove", help="run the smallest recorded point and compare its statistics"
    ),
    every: bool = typer.Option(False, "--all", help="with --prove: all ten points"),
    record: bool = typer.Option(
        False, "--record", help="run all ten points twice and record them in configs/known_answers"
    ),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Check this machine for each engine. Exit status 1 when `--engine` cannot run here.

    `--prove` runs a small layer on your own tools and compares its statistics with those recorded of the
    same gem5 release, which is deterministic: equal, or what differs and what usually causes it (exit
    status 1).
    """
    from apuflow.configure import load_sweep

    if prove and record:
        raise typer.BadParameter("one of the two", param_hint="--prove, --record")
    if (name or every) and not (prove or record):
        raise typer.BadParameter("only with --prove or --record", param_hint="ENGINE, --all")
    if (as_json or csv) and (prove or record):
        raise typer.BadParameter("only of the checks of this machine", param_hint="--json, --csv")
    chosen = _engine(name)
    release = release or load_sweep("default").release
    good = True
    if prove:
        good = _prove(chosen, release, every=every)
    elif record:
        _record(chosen, release)
    else:
        good = _examine(release, engine, network=not offline, as_json=as_json, csv=csv)
    if not good:
        raise typer.Exit(1)


def _engine(given: str) -> EngineName:
    """The engine of a name; without one gem5-kernels, whose points take seconds."""
    from apuflow.configure.base import did_you_mean
    from apuflow.core.engines import ENGINES

    for known in ENGINES:
        if known == (given or "gem5-kernels"):
            return known
    hint = did_you_mean(given, ENGINES)
    raise typer.BadParameter(
        f"there is no engine {given!r}: {hint}the engines are {', '.join(ENGINES)}", param_hint="ENGINE"
    )


def _prove(engine: EngineName, release: str, *, every: bool) -> bool:
    """Compare points of this machine with their known answers; whether all are equal."""
    from apuflow.answers import prove
    from apuflow.answers.answer import differences, equal, find, lines, none_recorded
    from apuflow.configure import load_release

    root = Path()
    source, known = find(engine, load_release(release, root), root)
    by_name = {answer.workload: answer for answer in known}
    wanted = [point for point in prove.points(engine, release, root) if point.workload in by_name]
    if not wanted:
        raise none_recorded(engine, release, root)
    wanted = wanted[: None if every else 1]
    if not prove.is_built(wanted[0], root):
        typer.echo(f"gem5 {release} is not built yet: that comes first, an hour or more")
    good = True
    for point, answer in zip(wanted, prove.answers(engine, wanted, root), strict=True):
        recorded = by_name[answer.workload]
        about = f"{answer.workload} on {engine}, {point.compute_units} compute units, release {release}"
        if source != release:
            about += f" (recorded on {source})"
        if equal(differences(recorded, answer)):
            rows = f", all {answer.rows:,} rows of statistics" if answer.rows else ""
            typer.echo(f"equal    {about}: {answer.count('counter')} counters{rows}")
        else:
            good = False
            typer.echo(f"DIFFERS  {about}")
        for line in lines(recorded, answer):
            typer.echo(f"         {line}")
    return good


def _record(engine: EngineName, release: str) -> None:
    """Record the known answers of this machine's tools."""
    from apuflow.answers import prove
    from apuflow.answers.answer import write

    answers = prove.record(engine, release, Path())
    file = Path(paths.known_answers(engine, release))
    write(file, answers)
    typer.echo(f"{file}: {len(answers)} points of {engine} with release {release}, each run twice")


def _examine(release: str, engine: str, *, network: bool, as_json: bool, csv: Path | None) -> bool:
    """Print what this machine has and lacks; whether the engine can run here."""
    from apuflow.configure import load_release, load_site
    from apuflow.prepare.doctor import Use, examine, ready

    if engine not in list(Use):
        raise typer.BadParameter(f"{engine!r} is none of {', '.join(Use)}", param_hint="--engine")
    checks = examine(load_site(Path()), load_release(release), Path.cwd(), network=network)
    rows = [
        {"check": check.name, "state": str(check.state), "detail": check.detail}
        | {"needed_by": ", ".join(check.uses), "fix": check.fix or ""}
        for check in checks
    ]
    give(rows, as_json, csv, lambda: _show(checks, release))
    return ready(checks, Use(engine))


def _show(checks: Sequence[Check], release: str) -> None:
    """Print every check, which engines are ready, and what runs here now."""
    from rich.console import Console
    from rich.markup import escape

    from apuflow.prepare.doctor import State, Use, missing, ready

    console = Console(soft_wrap=True, highlight=False)
    marks = {State.OK: "[green]ok     [/]", State.WARNING: "[yellow]warning[/]"}
    for check in checks:
        mark = marks.get(check.state, "[red]MISSING[/]")
        console.print(f"{mark}  {check.name:27} {escape(check.detail)}  [dim]({', '.join(check.uses)})[/]")
        if check.fix:
            console.print(f"{'':9}[bold]fix:[/] {escape(check.fix)}")
    console.print()
    for use in Use:
        lacking = ", ".join(check.name for check in missing(checks, use))
        console.print(f"{use:13} " + (f"[red]not ready[/]: {lacking}" if lacking else "[green]ready[/]"))
    uses = {"dnnmark": Use.DNNMARK, "kernels": Use.KERNELS, "preview": Use.PREVIEW}
    runs = {name: ready(checks, use) for name, use in uses.items()}
    console.print(f"\nruns here now: {escape(next_command(release, Path(), **runs))}")


def next_command(release: str, root: Path, *, dnnmark: bool, kernels: bool, preview: bool = True) -> str:
    """The largest step without missing requirements.

    Args:
        release: the examined release; sweeps of others are not proposed.
        dnnmark: whether engine gem5 can run DNNMark.
        kernels: whether engine gem5-kernels can run.
        preview: whether Snakemake can run.
    """
    if not preview:
        return "apuflow ask softmax_fwd n=100 num-compute-units=4,16"
    snakemake = f"snakemake --cores {len(os.sched_getaffinity(0))}"
    if dnnmark and _runs(paths.DEFAULT_SWEEP, release, root):
        return f"{snakemake} {paths.table('', 'softmax_fwd')}"
    if kernels and _runs("kernels", release, root):
        return f"{snakemake} {paths.report(paths.under('kernels'))}"
    if kernels and (root / paths.known_answers("gem5-kernels", release)).is_file():
        return f"apuflow doctor --prove gem5-kernels --release {release}"
    return f"{snakemake} {paths.report(paths.under('quickstart'))}"


def _runs(sweep: str, release: str, root: Path) -> bool:
    """Whether a sweep exists and is of this release only."""
    from apuflow.configure import load_sweep

    try:
        return load_sweep(sweep, root).release == release
    except ApuflowError:
        return False
