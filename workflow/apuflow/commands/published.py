"""``apuflow published``: results of suites beside published measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow published``."""
    app.command("published")(published)


def published(
    items: Annotated[
        list[Path], typer.Argument(help="results/SWEEP/items/SUITE.csv, of a suite that was measured")
    ],
) -> None:
    """Put results of suites beside published measurements: their shape, not the times.

    Shown are the rank correlation of the items' forward times, the one that sorting by floating-point
    operations alone reaches, and the ratio of backward to forward, ours and theirs; then what differs most,
    and why. A rank correlation no higher than that of the operations is no evidence for the model.
    """
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.score.published import WHY, compare

    console = terminal_console()
    numbers = ("published", "items", "rank corr.", "by FLOP alone", "bwd/fwd", "published")
    table = table_of(("suite", "ours"), numbers, no_wrap=False)
    comparisons = [one for file in items for one in compare(file)]
    for one in comparisons:
        found = (one.rank_correlation, one.by_flops, one.ratio, one.published_ratio)
        cells = ("-" if number is None else f"{number:.3f}" for number in found)
        table.add_row(one.suite, one.which, one.published, str(one.items), *cells)
    console.print(table)
    for one in comparisons:
        for name, mine, theirs in one.displaced:
            here = f"{one.suite}, {one.which}: {name} is number {mine} of {one.items} here"
            console.print(f"{here}, {theirs} on {one.published}")
    if any(one.by_flops is not None and one.by_flops >= (one.rank_correlation or 0.0) for one in comparisons):
        console.print(
            "\nSorting by FLOP alone orders some of these lists as well or better: their rank correlation is "
            "no evidence for the model."
        )
    console.print("\nWhy the shape differs:")
    for reason in WHY:
        console.print(f"- {reason}")
