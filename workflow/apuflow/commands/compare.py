"""``apuflow compare``: two tables, two parts of one, point by point; or the kernels of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    from apuflow_analysis.tables.compare import Comparison


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result table, CSV or Parquet.")],
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="The table to compare it with.")] = None,
    engines: Annotated[
        str | None, typer.Option(help="Two engines of one table instead: --engines gem5,preview.")
    ] = None,
    releases: Annotated[
        str | None, typer.Option(help="Two gem5 releases of one table instead: --releases v23.0,v23.1.")
    ] = None,
    axis: Annotated[
        str | None, typer.Option(help="Two values of an axis of one table: --axis num-compute-units=4,16.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="Counter or metric; give it several times.")
    ] = None,
    all_columns: Annotated[bool, typer.Option("--all", help="Every counter and metric.")] = False,
    points: Annotated[bool, typer.Option(help="Also list every point.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write every point and column here.")] = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels", help="Kernels that two runs launched: A and B are run directories, or A a table."
        ),
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="With --kernels: draw them here, FIGURE.svg and FIGURE-time.svg.")
    ] = None,
) -> None:
    """Join two tables on workload and axes and show ratio (B over A) and difference of each number.

    Two tables of a workload each need not be of the same one: conv_fwd.csv with conv_bwd.csv.
    With --kernels: which kernels two runs launched, those that one alone has, cycles of each, and what the
    time around them is. For a table, the runs of its engines gem5 and gem5-kernels (or of --engines).
    """
    if kernels:
        from apuflow.study.kernel_comparison import compare_runs

        compare_runs(a, b, engines or "gem5,gem5-kernels", csv, figure)
        return
    if figure is not None:
        raise ApuflowError(
            "only the kernels of two runs are drawn here",
            key="--figure",
            remedy="add --kernels; figures of a sweep are made by snakemake",
        )
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
        raise ApuflowError(
            "a second table is missing", remedy="apuflow compare A B, or apuflow compare A --engines X,Y"
        )
    else:
        result, sides = compare_tables(read(a), read(b), names), (str(a), str(b))
    _show(result, points, sides)
    if csv is not None:
        from apuflow.core.files import write_text

        write_text(csv, result.table.to_csv(index=False, lineterminator="\n"))


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


def _show(result: Comparison, points: bool, sides: tuple[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for side, name in zip("AB", sides, strict=True):
        console.print(f"{side}: {name}", highlight=False, markup=False, soft_wrap=True)
    if result.differ:
        differ = ", ".join(f"{name} ({a}, {b})" for name, a, b in result.differ)
        console.print(f"differ: {differ}", highlight=False, markup=False, soft_wrap=True)
    summary = Table(
        title="B over A: geometric mean, smallest and largest ratio; largest difference", title_justify="left"
    )
    summary.add_column("column", no_wrap=True)
    for heading in ("points", "mean ratio", "smallest", "largest", "difference"):
        summary.add_column(heading, justify="right")
    for row in result.summary.to_dict("records"):
        cells = ("geometric_mean_ratio", "smallest_ratio", "largest_ratio", "largest_difference")
        summary.add_row(str(row["column"]), str(row["points"]), *(_number(row[cell]) for cell in cells))
    console.print(summary)
    if points:
        keys = [key for key in result.keys if result.table[key].nunique(dropna=False) > 1]
        table = Table(title="Points", title_justify="left")
        for heading in (*keys, "column"):
            table.add_column(heading, no_wrap=heading == "column")
        for heading in ("A", "B", "ratio", "difference"):
            table.add_column(heading, justify="right")
        for row in result.table.to_dict("records"):
            values = (row[cell] for cell in ("a", "b", "ratio", "difference"))
            table.add_row(
                *(str(row[key]) for key in (*keys, "column")), *(_number(value) for value in values)
            )
        console.print(table)
    for side, names in (("A", result.wrong_a), ("B", result.wrong_b)):
        if names:
            console.print(f"Wrong results in {side} alone: {', '.join(names)}.")
    if result.only_a or result.only_b:
        console.print(f"Not compared: {result.only_a} points only in A, {result.only_b} only in B.")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.6g}"
