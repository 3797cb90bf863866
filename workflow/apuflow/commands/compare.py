"""``apuflow compare`` and ``score``: tables against tables, the preview against measured runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import CHECK, RESULTS, app
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ApuflowError
from apuflow.core.figures import stem_of
from apuflow.core.words import many

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from apuflow_analysis.tables.compare import Comparison


@app.command(rich_help_panel=RESULTS)
def compare(
    a: Path = typer.Argument(metavar="A", help="A result table, CSV or Parquet."),
    b: Path | None = typer.Argument(None, metavar="[B]", help="The table to compare it with."),
    engines: str | None = typer.Option(
        None, help="Two engines of one table instead: --engines gem5,preview."
    ),
    releases: str | None = typer.Option(
        None, help="Two gem5 releases of one table instead: --releases v23.0,v23.1."
    ),
    axis: str | None = typer.Option(
        None, help="Two values of an axis of one table: --axis num-compute-units=4,16."
    ),
    column: list[str] | None = typer.Option(
        None, "--column", "-c", help="Counter or metric; give it several times."
    ),
    all_columns: bool = typer.Option(False, "--all", help="Every counter and metric."),
    points: bool = typer.Option(False, help="Also list every point."),
    as_json: Json = False,
    csv: Csv = None,
    kernels: bool = typer.Option(
        False, "--kernels", help="Kernels that two runs launched: A and B are run directories, or A a table."
    ),
    figure: Path | None = typer.Option(
        None, help="With --kernels: draw them here, FIGURE.svg and FIGURE-time.svg."
    ),
) -> None:
    """Join two tables on workload and axes and show ratio (B over A) and difference of each number.

    Two tables of a workload each need not be of the same one: conv_fwd.csv with conv_bwd.csv.
    With --kernels: which kernels two runs launched, those that one alone has, cycles of each, and what the
    time around them is. For a table, the runs of its engines gem5 and gem5-kernels (or of --engines).
    """
    if kernels:
        from apuflow.results.kernel_comparison import compare_runs

        rows, show = compare_runs(a, b, engines or "gem5,gem5-kernels", figure)
        give(rows, as_json, csv, show)
        return
    if figure is not None:
        remedy = "add --kernels; figures of a sweep are made by snakemake"
        raise ApuflowError("only the kernels of two runs are drawn here", key="--figure", remedy=remedy)
    from apuflow_analysis.counters.table import NAMES as COUNTERS
    from apuflow_analysis.metrics.compute import NAMES as METRICS
    from apuflow_analysis.tables.compare import SHOWN
    from apuflow_analysis.tables.compare import compare as compare_tables
    from apuflow_analysis.tables.store import read

    names = (*COUNTERS, *METRICS) if all_columns else tuple(column or SHOWN)
    parts = {"--engines": engines, "--releases": releases, "--axis": axis}
    given = {key: value for key, value in parts.items() if value is not None}
    if given:
        result, sides = _parts_of(a, b, given, names)
    elif b is None:
        remedy = "apuflow compare A B, or apuflow compare A --engines X,Y"
        raise ApuflowError("a second table is missing", remedy=remedy)
    else:
        result, sides = compare_tables(read(a), read(b), names), (str(a), str(b))
    give(result.table, as_json, csv, lambda: _show_comparison(result, points, sides))


def _parts_of(
    table: Path, b: Path | None, given: dict[str, str], names: Sequence[str]
) -> tuple[Comparison, tuple[str, str]]:
    """Two parts of one table, and what each is called."""
    from apuflow_analysis.tables.compare import compare_engines, compare_releases, compare_values
    from apuflow_analysis.tables.store import read

    key, value = next(iter(given.items()))
    axis, _, values = value.rpartition("=")
    first, _, second = (part.strip() for part in values.partition(","))
    if b is not None or len(given) > 1 or not second or bool(axis) != (key == "--axis"):
        raise ApuflowError(
            f"{key} takes one table and two values",
            key=key,
            value=value,
            remedy="apuflow compare TABLE --engines gem5,preview, TABLE --releases v23.0,v23.1, or "
            "TABLE --axis num-compute-units=4,16",
        )
    frame = read(table)
    if key == "--axis":
        result = compare_values(frame, axis, first, second, names)
        return result, (f"{axis}={first}", f"{axis}={second}")
    compare_sides = compare_engines if key == "--engines" else compare_releases
    return compare_sides(frame, first, second, names), (first, second)


def _show_comparison(result: Comparison, points: bool, sides: tuple[str, str]) -> None:
    from rich.console import Console

    console = Console()
    heads = [f"{side}: {name}" for side, name in zip("AB", sides, strict=True)]
    if result.differ:
        heads.append("differ: " + ", ".join(f"{name} ({a}, {b})" for name, a, b in result.differ))
    for text in heads:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    title = "B over A: geometric mean, smallest and largest ratio; largest difference"
    summary = _ruled(title, (), ("points", "mean ratio", "smallest", "largest", "difference"))
    for row in result.summary.to_dict("records"):
        cells = ("geometric_mean_ratio", "smallest_ratio", "largest_ratio", "largest_difference")
        summary.add_row(str(row["column"]), str(row["points"]), *(_number(row[cell]) for cell in cells))
    console.print(summary)
    if points:
        keys = [key for key in result.keys if result.table[key].nunique(dropna=False) > 1]
        table = _ruled("Points", keys, ("A", "B", "ratio", "difference"))
        for row in result.table.to_dict("records"):
            texts = [str(row[key]) for key in (*keys, "column")]
            table.add_row(*texts, *(_number(row[cell]) for cell in ("a", "b", "ratio", "difference")))
        console.print(table)
    for side, names in (("A", result.wrong_a), ("B", result.wrong_b)):
        if names:
            console.print(f"Wrong results in {side} alone: {', '.join(names)}.")
    if result.only_a or result.only_b:
        console.print(f"Not compared: {result.only_a} points only in A, {result.only_b} only in B.")


def _ruled(title: str, keys: Iterable[str], numbers: Iterable[str]) -> Table:
    """A table with lines: keys, the column that is compared, numbers."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in keys:
        table.add_column(heading)
    table.add_column("column", no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.6g}"


@app.command(rich_help_panel=CHECK)
def score(
    runs: list[Path] | None = typer.Argument(
        None,
        help="tables of runs: results/<sweep>/<workload>.csv with the runs beside it, or CSV (Parquet) "
        "with kernel and shape columns; default: the recorded runs that come with apuflow",
    ),
    rows: bool = typer.Option(False, "--rows", help="a row per run instead of one per primitive"),
    as_json: Json = False,
    csv: Csv = None,
    figure: Path | None = typer.Option(
        None, help="draw preview against gem5 here, a panel per primitive: .svg, .png and .csv"
    ),
) -> None:
    """Score the preview against measured runs; what it learned from a layer takes no part in its score.

    Shown are median, mean, 90th percentile and maximum of |error| of the GPU cycles, and of the pairs of a
    sweep of compute units more than 10 % apart the share that it puts in the measured order; in all and per
    primitive. Runs are single kernels; where a point has several, a last line is of the cycles of each point.
    """
    from apuflow.score import errors as scoring

    stem = None if figure is None else stem_of(figure)
    scored = scoring.score(scoring.read_tables(runs or scoring.recorded()))
    for reason, number in scored.refused.items():
        print(f"refused: {reason} ({many(number, 'run')})", file=sys.stderr)
    if stem is not None:
        from apuflow_analysis.figures.comparisons import write_scatter

        write_scatter(scored.frame, stem)
    if rows:
        give(scored.frame, as_json, csv, lambda: _show_runs(scored.frame))
    else:
        lines = list(_lines(scoring.report(scored)))
        give(lines, as_json, csv, lambda: _show_errors(lines))


_COLUMNS = (
    ("median", "median_error", "{:.1%}"),
    ("mean", "mean_error", "{:.1%}"),
    ("p90", "p90_error", "{:.1%}"),
    ("max", "max_error", "{:.1%}"),
    ("ordered", "ordered_share", "{:.1%}"),
    ("of pairs", "ordered_pairs", "{}"),
)


def _lines(errors: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line per primitive, one of all runs, one of whole points if these have several kernels."""
    whole = [("whole points", errors["points"])] if "points" in errors else []
    for name, part in [*errors["primitives"].items(), ("all", errors), *whole]:
        yield {"primitive": name, "runs": part["runs"], **{key: part.get(key) for _, key, _ in _COLUMNS}}


def _show_errors(lines: Sequence[dict[str, Any]]) -> None:
    print(f"{'primitive':18} {'runs':>5}" + "".join(f" {heading:>8}" for heading, _, _ in _COLUMNS))
    for line in lines:
        cells = ["-" if line[key] is None else form.format(line[key]) for _, key, form in _COLUMNS]
        print(f"{line['primitive']:18} {line['runs']:>5}" + "".join(f" {cell:>8}" for cell in cells))


def _show_runs(frame: pd.DataFrame) -> None:
    for row in frame.itertuples():
        print(
            f"{row.primitive:16} {row.kernel:38} {row.num_compute_units:>3} CUs"
            f"  gem5 {float(str(row.gpu_cycles)):>10.0f}"
            f"  preview {row.predicted:>10.0f}  {row.error:+7.1%}  {row.bound}"
        )
