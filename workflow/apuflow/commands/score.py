"""``apuflow score``: the preview's error against runs of real gem5."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from apuflow.core.words import many


def register(app: typer.Typer) -> None:
    """Add ``score``."""
    app.command("score")(score)


def score(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="tables of runs: results/<sweep>/<workload>.csv with the runs beside it, or CSV (Parquet) "
            "with kernel and shape columns; default: the recorded runs that come with apuflow"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the numbers as JSON")] = False,
    rows: Annotated[bool, typer.Option("--rows", help="print every run as well")] = False,
    figure: Annotated[
        Path | None,
        typer.Option(help="draw preview against gem5 here, a panel per primitive: .svg, .png and .csv"),
    ] = None,
) -> None:
    """Score the preview against measured runs; what it learned from a layer takes no part in its score.

    Shown are median, mean, 90th percentile and maximum of |error| of the GPU cycles, and of the pairs of a
    sweep of compute units more than 10 % apart the share that it puts in the measured order; in all and per
    primitive. Runs are single kernels; where a point has several, a last line is of the cycles of each point.
    """
    import json as js
    import sys

    from apuflow.core.figures import stem_of
    from apuflow.score import errors as scoring

    stem = None if figure is None else stem_of(figure)
    scored = scoring.score(scoring.read_tables(runs or scoring.recorded()))
    errors = scoring.report(scored)
    for reason, number in scored.refused.items():
        print(f"refused: {reason} ({many(number, 'run')})", file=sys.stderr)
    if stem is not None:
        from apuflow_analysis.figures.comparisons import write_scatter

        write_scatter(scored.frame, stem)
    if json:
        print(js.dumps(errors, indent=1))
        return
    if rows:
        for row in scored.frame.itertuples():
            print(
                f"{row.primitive:16} {row.kernel:38} {row.num_compute_units:>3} CUs"
                f"  gem5 {float(str(row.gpu_cycles)):>10.0f}"
                f"  preview {row.predicted:>10.0f}  {row.error:+7.1%}  {row.bound}"
            )
    _show(errors)


COLUMNS = (
    ("median", "median_error", "{:.1%}"),
    ("mean", "mean_error", "{:.1%}"),
    ("p90", "p90_error", "{:.1%}"),
    ("max", "max_error", "{:.1%}"),
    ("ordered", "ordered_share", "{:.1%}"),
    ("of pairs", "ordered_pairs", "{}"),
)


def _show(errors: dict[str, Any]) -> None:
    print(f"{'primitive':18} {'runs':>5}" + "".join(f" {heading:>8}" for heading, _, _ in COLUMNS))
    whole = [("whole points", errors["points"])] if "points" in errors else []
    for name, part in [*errors["primitives"].items(), ("all", errors), *whole]:
        cells = ["-" if part.get(key) is None else form.format(part[key]) for _, key, form in COLUMNS]
        print(f"{name:18} {part['runs']:>5}" + "".join(f" {cell:>8}" for cell in cells))
