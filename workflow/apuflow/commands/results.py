"""``apuflow results``: what follows from results of networks, and measurements of others beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import results_group
from apuflow.commands.output import Csv, Json, give

if TYPE_CHECKING:
    from apuflow.score.published import Comparison

RINGS = (2, 4, 8, 16, 32)
_BANDWIDTH = typer.Option(16.0, help="GB/s of one link, in one direction")
_LATENCY = typer.Option(1.0, help="microseconds of one step of the ring, beside its bytes")


@results_group.command()
def epoch(
    summary: Path = typer.Argument(help="results/SWEEP/items/SUITE.summary.csv of a network"),
    dataset: str = typer.Option("imagenet", help="imagenet, cifar10, coco, squad, wmt16, ... or a number"),
    devices: list[int] | None = typer.Option(
        None, min=1, help="share the gradients of all weights; may be repeated; left out: 1"
    ),
    bandwidth: float = _BANDWIDTH,
    latency: float = _LATENCY,
    price: float = typer.Option(math.nan, help="per hour, of all devices together; left out: no cost"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Time and cost of one epoch, extrapolated from one simulated iteration.

    Not in it: reading the data, evaluation, start-up, and how many epochs a training takes. Several devices
    share the gradients by a ring (apuflow results allreduce), with and without overlap with the backward
    pass.
    """
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.results.epochs import epoch_numbers, epoch_text
    from apuflow.suites.epoch import EXTRAPOLATED, Ring

    cost = None if math.isnan(price) else price
    rings = [Ring(count, bandwidth * 1e9, latency * 1e-6) for count in devices or [1]]
    numbers = [row for ring in rings for row in epoch_numbers(summary, dataset, ring, cost)]

    def show() -> None:
        rows = [epoch_text(row) for row in numbers]
        headings = list(dict.fromkeys(heading for row in rows for heading in row))
        table = table_of((), headings, no_wrap=False)
        for row in rows:
            table.add_row(*(row.get(heading, "") for heading in headings))
        console = terminal_console()
        console.print(table)
        console.print(f"\nEvery row is {EXTRAPOLATED}; it says nothing about accuracy.")

    give(numbers, as_json, csv, show)


@results_group.command()
def allreduce(
    size: list[float] = typer.Argument(help="floats of 4 bytes; several are a table"),
    devices: list[int] | None = typer.Option(
        None, help="devices in the ring; may be repeated; left out: 2 to 32"
    ),
    bandwidth: float = _BANDWIDTH,
    latency: float = _LATENCY,
    reduce_rate: float = typer.Option(math.inf, help="GB/s that a device adds; left out: the sum is free"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Time of a ring all-reduce, and the bandwidth that its links see. By formula, not simulated."""
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.dnnmark.shape import FLOAT_BYTES
    from apuflow.suites.epoch import Ring

    rows = []
    for floats in size:
        for count in devices or RINGS:
            ring = Ring(count, bandwidth * 1e9, latency * 1e-6, reduce_rate * 1e9)
            moved = floats * FLOAT_BYTES
            bus = ring.bus_bandwidth(moved) / 1e9
            rows.append(
                {"floats": floats, "devices": count, "ms": ring.seconds(moved) * 1e3, "link_gb_per_s": bus}
            )

    def show() -> None:
        table = table_of((), ("floats", "devices", "ms", "GB/s per link"), no_wrap=False)
        for floats, count, duration, bus in (row.values() for row in rows):
            table.add_row(f"{floats:,.0f}", str(count), f"{duration:,.4f}", f"{bus:.3f}")
        terminal_console().print(table)

    give(rows, as_json, csv, show)


@results_group.command()
def published(
    items: list[Path] = typer.Argument(help="results/SWEEP/items/SUITE.csv, of a suite that was measured"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Put results of suites beside published measurements: their shape, not the times.

    Shown are the rank correlation of the items' forward times, the one that sorting by floating-point
    operations alone reaches, and the ratio of backward to forward, ours and theirs; then what differs most,
    and why. A rank correlation no higher than that of the operations is no evidence for the model.
    """
    from apuflow.score.published import compare

    comparisons = [one for file in items for one in compare(file)]
    give([_published_row(one) for one in comparisons], as_json, csv, lambda: _show_published(comparisons))


def _published_row(one: Comparison) -> dict[str, Any]:
    return {
        "suite": one.suite,
        "ours": one.which,
        "published": one.published,
        "items": one.items,
        "rank_correlation": one.rank_correlation,
        "rank_correlation_of_flop": one.by_flops,
        "backward_over_forward": one.ratio,
        "published_backward_over_forward": one.published_ratio,
    }


def _show_published(comparisons: Sequence[Comparison]) -> None:
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.score.published import WHY

    console = terminal_console()
    numbers = ("published", "items", "rank corr.", "by FLOP alone", "bwd/fwd", "published")
    table = table_of(("suite", "ours"), numbers, no_wrap=False)
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
