"""``apuflow ask`` and ``apuflow search``: what the preview answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import ASK, app, complete
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
        help="names or patterns of workloads, names of suites, with commas between",
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
    force: bool = typer.Option(False, help="let --save overwrite a sweep"),
) -> None:
    """Print the preview's answer: apuflow ask conv_fwd num-compute-units=4,16,64 n=1,10."""
    from apuflow.ask import question as asking
    from apuflow.preflight.plan import of_preview
    from apuflow_analysis.tables.cliffs import cliff_texts
    from apuflow_analysis.tables.columns import PRODUCTS
    from apuflow_analysis.tables.tables import AXES

    if not workloads.strip(", "):
        raise ConfigError(
            "no workload is named", key="workloads", value=workloads, remedy="such as conv_fwd or 'pool_*'"
        )
    content = asking.described(workloads, settings or [])
    sweep = asking.question(content)
    explained = _explained(sweep) if why else []
    frame = asking.answer(sweep)
    shown = tuple(column or SHOWN)
    remedy = "docs/metrics.md lists counters and metrics"
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
    for point in explained:
        _explain(point, alone=len(explained) == 1, err=as_json)
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
        help="its axes span the space; its engines do not matter", autocompletion=complete.sweep
    ),
    minimise: list[str] | None = typer.Option(
        None, "--minimise", "-m", help="expression over columns; several times"
    ),
    maximise: list[str] | None = typer.Option(None, help="expression over columns; several times"),
    where: list[str] | None = typer.Option(
        None, help="constraint, as 'dram_bytes_read < 1e9'; several times"
    ),
    show: int = typer.Option(20, min=1, help="rows to print"),
    most: int = typer.Option(20_000, min=1, help="points per workload to compute at most"),
    as_json: Json = False,
    csv: Csv = None,
    figure: Path | None = typer.Option(None, help="draw the first two objectives here: .svg, .png and .csv"),
    judge: str = typer.Option(
        "",
        help="let gem5-kernels judge: keeps the best points as a sweep of this name; once they ran, "
        "takes their results and adds the points that may still be better",
    ),
    best: int = typer.Option(10, min=1, help="points that --judge adds at a time"),
    force: bool = typer.Option(False, help="let --judge overwrite a sweep"),
) -> None:
    """Find the best points of a sweep's space: by default the fewest GPU cycles.

    Without -m and --maximise the sweep's own objectives count (figures: objectives, in its file).
    Sizes count in bytes, clocks in Hz: -m gpu_cycles -m 'num_compute_units * 0.5 + tcc_size / 1e6'.
    """
    from apuflow.ask import search as searching
    from apuflow.configure import load_sweep
    from apuflow_analysis.tables.objectives import Objective

    stem = None if figure is None else stem_of(figure)
    loaded = load_sweep(sweep)
    objectives = [Objective(text) for text in minimise or []]
    objectives += [Objective(text, larger=True) for text in maximise or []]
    objectives = objectives or [Objective(text) for text in loaded.figures.objectives or ("gpu_cycles",)]
    judged = bool(judge) and searching.continues(judge, loaded, force=force)
    found = searching.search(loaded, objectives, where or (), most)
    results = searching.results_of(judge, loaded) if judged else None
    verdict = None
    if results is not None:
        verdict = searching.judge(found, objectives, results, loaded)
        found = verdict.found
    names = [objective.expression for objective in objectives]
    give(found.rows, as_json, csv, lambda: _show_best(found, names, show))
    if verdict is not None:
        typer.echo(verdict.text, err=as_json)
    if stem is not None:
        from apuflow_analysis.figures.pareto import write_pareto

        write_pareto(found.rows, (names * 2)[:2], stem)
    again = f"next: snakemake --cores all results/{judge}/report.html, then this command again"
    if judged and verdict is None:
        typer.echo(f"sweep {judge} judges, and has no tables yet\n{again}", err=as_json)
    elif judge and (verdict is None or verdict.undecided):
        chosen = found if verdict is None else searching.next_points(verdict, best)
        count = best if verdict is None else len(chosen.rows)
        force = force or verdict is not None
        path = searching.save_best(loaded, chosen, objectives, count, judge, force=force)
        typer.echo(f"{path}: {many(min(count, len(chosen.rows)), 'point')}\n{again}", err=as_json)


def _show_best(found: Found, expressions: list[str], show: int) -> None:
    from apuflow.core.terminal import blocks, interval, number, terminal_console

    out = terminal_console()
    columns = list(dict.fromkeys([*found.axes, *expressions, "gpu_cycles"]))
    headings = ["best", *(name.removeprefix("layer.") for name in columns), "interval of cycles"]
    rows = []
    for row in found.rows.head(show).to_dict("records"):
        mark = ("*" if row["best"] else "") + (" gem5" if row.get("judged") else "")
        rows.append([mark, *(number(row[name]) for name in columns), interval(row)])
    out.print(blocks(headings, rows, 1 + len(found.axes), out.width))
    part = "all" if found.evaluated == found.space else f"{found.evaluated:,} drawn at random of"
    out.print(f"{part} {many(found.space, 'point')} computed; {found.refused:,} left out by constraints")
    out.print(f"*: none is better in every objective ({many(int(found.rows['best'].sum()), 'point')})")
    if found.undecided and "judged" not in found.rows:
        out.print(
            f"{found.undecided} more points may be as fast as the first within the preview's error: "
            "--judge NAME keeps the best for gem5-kernels"
        )
