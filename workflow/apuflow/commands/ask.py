"""``apuflow ask`` and ``apuflow search``: what the preview answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import ASK, app, complete
from apuflow.commands.judged import Asked, check_judge, judged_search, settled
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.figures import stem_of
from apuflow.core.words import many

if TYPE_CHECKING:
    import pandas as pd

    from apuflow.ask.search import Found
    from apuflow.configure import Sweep
    from apuflow.configure.point import Point
SHOWN = ("gpu_cycles", "ipc", "occupancy", "valu_utilization", "bound")
MAX_ROWS = 100
MOST_EXPLAINED = 8


@app.command(rich_help_panel=ASK)
def ask(
    workloads: str = typer.Argument(
        help="names or patterns of workloads and suites, with commas between",
        autocompletion=complete.workloads_and_suites,
    ),
    settings: list[str] | None = typer.Argument(
        None,
        help="key=value or key=value,value: apu_se.py options, layer keys, machine, release, products",
        autocompletion=complete.setting,
    ),
    column: list[str] | None = typer.Option(
        None, "--column", "-c", help="counter or metric to show; several times"
    ),
    why: bool = typer.Option(
        False, "--why", help=f"say what the cycles are made of, for {MOST_EXPLAINED} points at most"
    ),
    as_json: Json = False,
    csv: Csv = None,
    save: str = typer.Option("", help="keep the question as a sweep of this name"),
    judge: str = typer.Option(
        "",
        help="let gem5-kernels judge: keeps the question as a sweep of this name; once it ran, puts gem5's "
        "cycles beside the preview's",
    ),
    run: bool = typer.Option(False, "--run", help="run what --judge keeps, on all cores"),
    force: bool = typer.Option(False, help="let --save and --judge overwrite a sweep"),
) -> None:
    """Print the preview's answer: apuflow ask conv_fwd num-compute-units=4,16,64 n=1,10.

    A batch is one image unless n is given. What else is taken for granted stands behind "assumed".
    """
    from apuflow.ask import question as asking
    from apuflow.ask.assumed import compared, one_image
    from apuflow.ask.behind import behind, unchecked
    from apuflow.preflight.plan import of_preview
    from apuflow_analysis.counters.program import COLUMNS as PROGRAM
    from apuflow_analysis.tables.cliffs import cliff_texts
    from apuflow_analysis.tables.columns import PRODUCTS
    from apuflow_analysis.tables.tables import AXES

    content = one_image(asking.described(workloads, settings or []))
    sweep = asking.question(content)
    asked = Asked("ask", content, sweep, (workloads, *(settings or [])))
    check_judge(asked, judge, run=run, force=force)
    explained = _explained(sweep) if why else []
    answer = asking.answered(sweep)
    frame = answer.frame
    shown = tuple(column or (*SHOWN, *(PROGRAM if frame[PROGRAM[0]].notna().any() else ())))
    remedy = "`apuflow list metrics` shows counters and metrics"
    for name in shown:
        if name not in frame.columns:
            raise ApuflowError("no such column", key="--column", value=name, remedy=remedy)
    if frame[PRODUCTS].nunique() > 1:
        shown = tuple(dict.fromkeys((*shown, PRODUCTS)))
    axes = [str(name) for name in frame.attrs.get(AXES, ())]
    axes = axes or [name.replace("-", "_") for name in sweep.axes]
    names = [*(["workload"] if frame["workload"].nunique() > 1 else []), *axes]
    give(frame, as_json, csv, lambda: _show(frame, names, shown))
    if told := of_preview(frame, sweep, Path()):
        typer.echo(f"matrix products: {told}", err=as_json)
    for text in cliff_texts(frame, axes):
        typer.echo(f"steep step: {text}", err=as_json)
    for line in (f"assumed: {asked.assumed(frame)}", *behind(answer), *unchecked(frame, compared(sweep))):
        typer.echo(line, err=as_json)
    for point in explained:
        _explain(point, alone=len(explained) == 1, err=as_json)
    for line in settled(asked, answer, judge, run=run, force=force):
        typer.echo(line, err=as_json)
    if save:
        path = asking.save(content, save, force=force)
        typer.echo(f"{path}\nnext: apuflow plan {save}", err=as_json)


def _explained(sweep: Sweep) -> list[Point]:
    """The points of a question, which are few."""
    from apuflow.plan.points import points, sweep_workloads

    asked = [point for name in sweep_workloads(sweep) for point in points(sweep, name)]
    if len(asked) > MOST_EXPLAINED:
        message, remedy = f"explains {MOST_EXPLAINED} points at most", "ask for fewer values"
        raise ConfigError(message, key="--why", value=len(asked), remedy=remedy)
    return asked


def _explain(point: Point, *, alone: bool, err: bool) -> None:
    from apuflow.ask.why import why

    typer.echo("" if alone else f"\n{point.workload} {point.label}:", err=err)
    for line in why(point):
        typer.echo(line, err=err)


def _show(frame: pd.DataFrame, axes: list[str], columns: tuple[str, ...]) -> None:
    from apuflow.core.terminal import blocks, interval, number, terminal_console
    from apuflow_analysis.tables.columns import INTERVAL

    shown = frame.head(MAX_ROWS)
    cells = {name.removeprefix("layer."): [str(value) for value in shown[name]] for name in axes}
    for name in columns:
        cells[name] = [number(value) for value in shown[name]]
        if name == "gpu_cycles" and {*INTERVAL} <= {*frame.columns}:
            cells["interval of cycles"] = [interval(row) for row in shown.to_dict("records")]
    console = terminal_console()
    console.print(blocks([*cells], [*zip(*cells.values(), strict=True)], len(axes), console.width))
    if len(frame) > MAX_ROWS:
        console.print(f"and {len(frame) - MAX_ROWS} more rows: --csv PATH writes them all")


@app.command(rich_help_panel=ASK)
def search(
    sweep: str = typer.Argument(
        metavar="what",
        help="a sweep, whose axes span the space; or workloads and suites, as in ask, with their axes behind",
        autocompletion=complete.space,
    ),
    settings: list[str] | None = typer.Argument(
        None,
        help="of workloads and suites: key=value, or key=value,value for an axis, as in ask",
        autocompletion=complete.setting,
    ),
    minimise: list[str] | None = typer.Option(
        None, "--minimise", "-m", help="expression over columns; several times"
    ),
    maximise: list[str] | None = typer.Option(None, help="expression over columns; several times"),
    cost: list[str] | None = typer.Option(
        None, help="what a machine costs, such as its area: expression over options; several times"
    ),
    within: str = typer.Option(
        "", help="share, such as 10%: the cheapest machine that misses the best by this much at most"
    ),
    where: list[str] | None = typer.Option(
        None, help="constraint, as 'dram_bytes_read < 1e9'; several times"
    ),
    show: int = typer.Option(20, min=1, help="rows to print"),
    most: int = typer.Option(
        20_000, min=1, help="points to compute at most per workload; operations of a suite"
    ),
    as_json: Json = False,
    csv: Csv = None,
    figure: Path | None = typer.Option(None, help="draw the first two objectives here: .svg, .png and .csv"),
    judge: str = typer.Option(
        "",
        help="let gem5-kernels judge: keeps the best points as a sweep of this name; once they ran, "
        "takes their results and adds the points that may still be better",
    ),
    best: int = typer.Option(10, min=1, help="points that --judge adds at a time"),
    run: bool = typer.Option(False, "--run", help="run what --judge keeps, until it is settled"),
    force: bool = typer.Option(False, help="let --judge overwrite a sweep"),
) -> None:
    """Find the best machines: apuflow search resnet18 num-compute-units=4,16 --cost tcc_size --within 10%.

    Without -m and --maximise the sweep's own objectives count (figures: objectives, in its file), else the
    fewest GPU cycles, or the least GPU time where the GPU's clock varies. --within takes the first.
    Sizes count in bytes, clocks in Hz: --cost 'num_compute_units * 0.5 + tcc_size / 1e6'.
    """
    from apuflow.ask.cheapest import objectives_of, sentence, share_of
    from apuflow.ask.search import search as searched

    stem = None if figure is None else stem_of(figure)
    asked = _space(sweep, settings or [])
    objectives = objectives_of(asked.sweep, minimise or (), maximise or (), cost or ())
    share = share_of(within, objectives) if within else None
    check_judge(asked, judge, run=run, force=force)
    found = searched(asked.sweep, objectives, where or (), most, within=share)
    options = (("-m", minimise), ("--maximise", maximise), ("--cost", cost), ("--where", where))
    own = [word for name, texts in options for text in texts or () for word in (name, text)]
    own += ["--within", within] if within else []
    shown, lines = judged_search(asked, found, own, judge, best, run=run, force=force)
    give(shown.rows, as_json, csv, lambda: _show_best(shown, show))
    for line in (*sentence(shown), f"assumed: {asked.assumed(found.answer.frame)}", *lines):
        typer.echo(line, err=as_json)
    if stem is not None:
        from apuflow_analysis.figures.pareto import write_pareto

        write_pareto(shown.rows, ([o.expression for o in objectives] * 2)[:2], stem)


def _space(space: str, settings: list[str]) -> Asked:
    """The sweep of this name, or the question about workloads and suites."""
    from apuflow.ask import question as asking
    from apuflow.ask.assumed import one_image
    from apuflow.configure import load_sweep
    from apuflow.configure.loading import suite_names, sweep_names, workload_names

    if not settings and (space in sweep_names() or space not in {*workload_names(), *suite_names()}):
        return Asked("search", {}, load_sweep(space), (space,))
    content = one_image(asking.described(space, settings))
    return Asked("search", content, asking.question(content), (space, *settings))


def _show_best(found: Found, show: int) -> None:
    from apuflow.core.terminal import blocks, interval, number, terminal_console

    out = terminal_console()
    columns = list(dict.fromkeys([*found.axes, *(o.expression for o in found.objectives), "gpu_cycles"]))
    headings = ["best", *(name.removeprefix("layer.") for name in columns), "interval of cycles"]
    rows = []
    for row in found.rows.head(show).to_dict("records"):
        marks = ("*" if row["best"] else "", "gem5" if row.get("judged") else "")
        near = "" if found.within is None or not row["within"] else f"within {100 * found.within:.3g} %"
        mark = " ".join(filter(None, (*marks, near)))
        rows.append([mark, *(number(row[name]) for name in columns), interval(row)])
    out.print(blocks(headings, rows, 1 + len(found.axes), out.width))
    part = "all" if found.evaluated == found.space else f"{found.evaluated:,} drawn at random of"
    out.print(f"{part} {many(found.space, 'point')} computed; {found.refused:,} left out by constraints")
    out.print(f"*: none is better in every objective ({many(int(found.rows['best'].sum()), 'point')})")
