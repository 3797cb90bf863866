"""``apuflow epoch`` and ``apuflow allreduce``: what one iteration means for an epoch and several devices."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

RINGS = (2, 4, 8, 16, 32)
BANDWIDTH = "GB/s of one link, in one direction"
LATENCY = "microseconds of one step of the ring, beside its bytes"


def register(app: typer.Typer) -> None:
    """Add ``apuflow epoch`` and ``apuflow allreduce``."""
    app.command("epoch")(epoch)
    app.command("allreduce")(allreduce)


def epoch(
    summary: Annotated[Path, typer.Argument(help="results/SWEEP/items/SUITE.summary.csv of a network")],
    dataset: str = typer.Option("imagenet", help="imagenet, cifar10, coco, squad, wmt16, ... or a number"),
    devices: Annotated[
        list[int] | None,
        typer.Option(min=1, help="share the gradients of all weights; may be repeated; left out: 1"),
    ] = None,
    bandwidth: float = typer.Option(16.0, help=BANDWIDTH),
    latency: float = typer.Option(1.0, help=LATENCY),
    price: float = typer.Option(math.nan, help="per hour, of all devices together; left out: no cost"),
    csv: Annotated[
        Path | None, typer.Option(help="also write all numbers here, with the time of each phase")
    ] = None,
) -> None:
    """Time and cost of one epoch, extrapolated from one simulated iteration.

    Not in it: reading the data, evaluation, start-up, and how many epochs a training takes. Several devices
    share the gradients by a ring (apuflow allreduce): with and without overlap with the backward pass.
    """
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.results.epochs import epoch_numbers, epoch_text, write_numbers
    from apuflow.suites.epoch import EXTRAPOLATED, Ring

    cost = None if math.isnan(price) else price
    rings = [Ring(count, bandwidth * 1e9, latency * 1e-6) for count in devices or [1]]
    numbers = [row for ring in rings for row in epoch_numbers(summary, dataset, ring, cost)]
    if csv is not None:
        write_numbers(numbers, csv)
    rows = [epoch_text(row) for row in numbers]
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    table = table_of((), headings, no_wrap=False)
    for row in rows:
        table.add_row(*(row.get(heading, "") for heading in headings))
    console = terminal_console()
    console.print(table)
    console.print(f"\nEvery row is {EXTRAPOLATED}; it says nothing about accuracy.")


def allreduce(
    size: Annotated[list[float], typer.Argument(help="floats of 4 bytes; several are a table")],
    devices: Annotated[
        list[int] | None, typer.Option(help="devices in the ring; may be repeated; left out: 2 to 32")
    ] = None,
    bandwidth: float = typer.Option(16.0, help=BANDWIDTH),
    latency: float = typer.Option(1.0, help=LATENCY),
    reduce_rate: float = typer.Option(math.inf, help="GB/s that a device adds; left out: the sum is free"),
) -> None:
    """Time of a ring all-reduce, and the bandwidth that its links see. By formula, not simulated."""
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.dnnmark.shape import FLOAT_BYTES
    from apuflow.suites.epoch import Ring

    table = table_of((), ("floats", "devices", "ms", "GB/s per link"), no_wrap=False)
    for floats in size:
        for count in devices or RINGS:
            ring = Ring(count, bandwidth * 1e9, latency * 1e-6, reduce_rate * 1e9)
            moved = floats * FLOAT_BYTES
            bus = ring.bus_bandwidth(moved) / 1e9
            table.add_row(f"{floats:,.0f}", str(count), f"{ring.seconds(moved) * 1e3:,.4f}", f"{bus:.3f}")
    terminal_console().print(table)
