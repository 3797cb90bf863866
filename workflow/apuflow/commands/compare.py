"""``apuflow compare``: two result tables, or two engines of one, point by point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    from analysis.tables.compare import Comparison


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result table, CSV or Parquet.")],
    b: Annotated[Path | None, typer.Argument(metavar="[B]", help="The table to compare it with.")] = None,
    engines: Annotated[
        str | None, typer.Option(help="Two engines of one table instead: --engines gem5,preview.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="Counter or metric; give it several times.")
    ] = None,
    all_columns: Annotated[bool, typer.Option("--all", help="Every counter and metric.")] = False,
    points: Annotated[bool, typer.Option(help="Also list every point.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write every point and column here.")] = None,
) -> None:
    """Join two tables on workload and axes and show ratio (B over A) and difference of each number."""
    from analysis.counters.table import NAMES as COUNTERS
    from analysis.metrics.compute import NAMES as METRICS
    from analysis.tables.compare import SHOWN, compare_engines
    from analysis.tables.compare import compare as compare_tables
    from analysis.tables.store import read

    names = (*COUNTERS, *METRICS) if all_columns else tuple(column or SHOWN)
    if engines is not None:
        first, _, second = engines.partition(",")
        if b is not None or not second:
            raise ApuflowError(
                "--engines takes one table and two engines",
                key="--engines",
                value=engines,
                remedy="apuflow compare TABLE --engines gem5,preview",
            )
        result = compare_engines(read(a), first.strip(), second.strip(), names)
    elif b is None:
        raise ApuflowError(
            "a second table is missing", remedy="apuflow compare A B, or apuflow compare A --engines X,Y"
        )
    else:
        result = compare_tables(read(a), read(b), names)
    _show(result, points)
    if csv is not None:
        from apuflow.core.files import write_text

        write_text(csv, result.table.to_csv(index=False, lineterminator="\n"))


def _show(result: Comparison, points: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
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
        keys = [key for key in result.keys if result.table[key].nunique(dropna=False) > 1] or ["workload"]
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
    if result.only_a or result.only_b:
        console.print(f"Not compared: {result.only_a} points only in A, {result.only_b} only in B.")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.6g}"
