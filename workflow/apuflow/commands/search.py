"""``apuflow search``: the best points of a sweep's space, by the preview."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.ask.search import Found


def register(app: typer.Typer) -> None:
    """Add ``apuflow search``."""
    app.command("search")(search)


def search(
    sweep: Annotated[str, typer.Argument(help="its axes span the space; its engines do not matter")],
    minimise: Annotated[
        list[str] | None, typer.Option("--minimise", "-m", help="expression over columns; several times")
    ] = None,
    maximise: Annotated[list[str] | None, typer.Option(help="expression over columns; several times")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="constraint, as 'dram_bytes_read < 1e9'; several times")
    ] = None,
    show: Annotated[int, typer.Option(min=1, help="rows to print")] = 20,
    most: Annotated[int, typer.Option(min=1, help="points per workload to compute at most")] = 20_000,
    csv: Annotated[Path | None, typer.Option(help="write every point here")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="draw the first two objectives here: .svg, .png and .csv")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            help="let gem5-kernels judge: keeps the best points as a sweep of this name; once they ran, "
            "takes their results and adds the points that may still be better"
        ),
    ] = "",
    best: Annotated[int, typer.Option(min=1, help="points that --judge adds at a time")] = 10,
    force: Annotated[bool, typer.Option(help="let --judge overwrite a sweep")] = False,
) -> None:
    """Find the best points of a sweep's space: by default the fewest GPU cycles.

    Without -m and --maximise the sweep's own objectives count (figures: objectives, in its file).
    Sizes count in bytes, clocks in Hz: -m gpu_cycles -m 'num_compute_units * 0.5 + tcc_size / 1e6'.
    """
    from apuflow.ask import search as searching
    from apuflow.configure import load_sweep
    from apuflow.core.figures import stem_of
    from apuflow.core.files import write_csv
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
    _print(found, [objective.expression for objective in objectives], show)
    if verdict is not None:
        print(verdict.text)
    write_csv(csv, found.rows)
    if stem is not None:
        from apuflow_analysis.figures.pareto import write_pareto

        names = [objective.expression for objective in objectives]
        write_pareto(found.rows, (names * 2)[:2] if len(names) < 2 else names[:2], stem)
    if judged and verdict is None:
        print(f"sweep {judge} judges, and has no tables yet\n{_next(judge)}")
    elif judge and (verdict is None or verdict.undecided):
        chosen = found if verdict is None else searching.next_points(verdict, best)
        count = best if verdict is None else len(chosen.rows)
        path = searching.save_best(
            loaded, chosen, objectives, count, judge, force=force or verdict is not None
        )
        print(f"{path}: {many(min(count, len(chosen.rows)), 'point')}\n{_next(judge)}")


def _next(judge: str) -> str:
    return f"next: snakemake --cores all results/{judge}/report.html, then this command again"


def _print(found: Found, expressions: list[str], show: int) -> None:
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
    if "judged" in found.rows:
        return
    if found.undecided:
        out.print(
            f"{found.undecided} more points may be as fast as the first within the preview's error: "
            "--judge NAME keeps the best for gem5-kernels"
        )
