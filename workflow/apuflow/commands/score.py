"""``apuflow score``: the preview's error against runs of real gem5."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


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
    held_out: Annotated[
        bool, typer.Option("--held-out", help="only recorded runs that the model was not made with")
    ] = False,
) -> None:
    """Score the preview against measured runs.

    Shown are median and 90th percentile of |error| of the GPU cycles, rank correlation along CU sweeps, and
    of the pairs of a sweep more than 10 % apart the share that it puts in the measured order; in all and per
    primitive.
    """
    import json as js
    import sys

    from apuflow.study import score as scoring

    frame = scoring.read_tables(runs or scoring.recorded())
    if held_out and "id" in frame.columns:
        chosen = [scoring.held_out(str(run)) for run in frame["id"]]
        frame = frame[chosen].reset_index(drop=True)
    scored = scoring.score(frame)
    errors = scoring.report(scored)
    for reason, number in scored.refused.items():
        print(f"refused: {reason} ({number} runs)", file=sys.stderr)
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


def _show(errors: dict[str, Any]) -> None:
    print(f"{'primitive':18} {'runs':>5} {'median':>8} {'p90':>8} {'rank':>7} {'ordered':>8} {'of pairs':>8}")
    for name, part in [*errors["primitives"].items(), ("all", errors)]:
        cells = [
            ("-" if part[key] is None else form.format(part[key]))
            for key, form in (
                ("median_error", "{:.1%}"),
                ("p90_error", "{:.1%}"),
                ("rank_correlation", "{:.3f}"),
                ("ordered_share", "{:.1%}"),
                ("ordered_pairs", "{}"),
            )
        ]
        print(
            f"{name:18} {part['runs']:>5} {cells[0]:>8} {cells[1]:>8} {cells[2]:>7}"
            f" {cells[3]:>8} {cells[4]:>8}"
        )
