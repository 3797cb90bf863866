"""Whole networks from one iteration or a few operations: ``apuflow epoch, allreduce, sample, statsnet``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import app
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_csv
from apuflow.core.words import many

if TYPE_CHECKING:
    from rich.console import Console

    from apuflow.configure.sweep_keys import Sampling
    from apuflow.sampling.suites import Sampled
    from apuflow.statsnet.make import Request, StatsNet

RINGS = (2, 4, 8, 16, 32)
_BANDWIDTH = typer.Option(16.0, help="GB/s of one link, in one direction")
_LATENCY = typer.Option(1.0, help="microseconds of one step of the ring, beside its bytes")


@app.command()
def epoch(
    summary: Path = typer.Argument(help="results/SWEEP/items/SUITE.summary.csv of a network"),
    dataset: str = typer.Option("imagenet", help="imagenet, cifar10, coco, squad, wmt16, ... or a number"),
    devices: list[int] | None = typer.Option(
        None, min=1, help="share the gradients of all weights; may be repeated; left out: 1"
    ),
    bandwidth: float = _BANDWIDTH,
    latency: float = _LATENCY,
    price: float = typer.Option(math.nan, help="per hour, of all devices together; left out: no cost"),
    csv: Path | None = typer.Option(None, help="also write all numbers here, with the time of each phase"),
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


@app.command()
def allreduce(
    size: list[float] = typer.Argument(help="floats of 4 bytes; several are a table"),
    devices: list[int] | None = typer.Option(
        None, help="devices in the ring; may be repeated; left out: 2 to 32"
    ),
    bandwidth: float = _BANDWIDTH,
    latency: float = _LATENCY,
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


@app.command()
def sample(
    sweep: str = typer.Argument(help="name of a sweep with suites"),
    bound: float | None = typer.Option(
        None, help="half width of the total's interval over the total: 0.03 is 3 %"
    ),
    confidence: float | None = typer.Option(None, help="probability that the interval holds the total"),
    budget: float | None = typer.Option(
        None, help="largest share of the cycles of all distinct operations to simulate"
    ),
    audit: int | None = typer.Option(None, help="operations at most that are drawn at random"),
    seed: int | None = typer.Option(None, help="another number draws another audit"),
    following: bool = typer.Option(
        False, "--next", help="print the run records to make next, or, if none, those that are there"
    ),
    csv: Path | None = typer.Option(None, help="write every operation, measured or estimated, to this file"),
) -> None:
    """Estimate the cycles of whole networks from the runs that are there, and say which runs to make next.

    The preview tells how long every operation takes beside the others; gem5's runs of some correct it. What
    is asked of the estimate stands in the sweep's file (key sampling), else it has defaults; options come
    first. `snakemake --cores 8 results/SWEEP/report.html` makes the runs of a sweep with that key.
    """
    from apuflow.configure.sweep_keys import Sampling
    from apuflow.plan.campaign import Campaign
    from apuflow.sampling.suites import member_table, sample_suites

    campaign = Campaign()
    loaded = campaign.load(sweep)
    aim = (loaded.sampling or Sampling()).with_options(
        bound=bound, confidence=confidence, budget=budget, audit=audit, seed=seed
    )
    found = sample_suites(campaign, loaded, aim)
    write_csv(csv, member_table(found))
    if following:
        records = [record for one in found for record in one.following]
        made = [record for one in found for record in one.made]
        typer.echo("\n".join(dict.fromkeys(records or made)))
    else:
        _show_samples(found, aim)


def _show_samples(found: list[Sampled], aim: Sampling) -> None:
    from apuflow.core.terminal import table_of, terminal_console

    table = table_of(("suite", "at"), ("cycles", "+-", "measured", "audit", "next"))
    for column in table.columns[:2]:
        column.no_wrap, column.overflow = False, "fold"
    for one in found:
        measured = one.estimate.members["is_measured"]
        table.add_row(
            f"{one.suite} ({one.engine})",
            one.label or "-",
            f"{one.estimate.total:.4g}",
            f"{one.estimate.relative:.1%}",
            f"{measured.sum()}/{len(measured)}",
            f"{one.audit['inside'].sum()}/{len(one.audit)}" if len(one.audit) else "-",
            str(len(one.following)) if one.following else "met" if one.is_met else "budget",
        )
    console = terminal_console()
    console.print(table)
    console.print(
        "cycles: of one iteration, estimated but for the operations measured. +-: half width of the "
        "interval. audit: operations drawn at random whose cycles are in the interval that the others "
        f"give. next: runs to make; met: the interval is within {aim.bound:.1%}; budget: it is"
        " not, and no more may be run."
    )
    for one in found:
        if one.ended == "contradicted":
            console.print(f"{one.suite}: the audit contradicts the estimate: more runs are needed.")
        if not one.following and one.more_runs:
            names = "; ".join(one.members["operation"][one.more_runs])
            console.print(f"{one.suite}: the bound needs these runs and a larger budget: {names}")
    if left_out := sum(one.left_out for one in found):
        console.print(f"not in the totals, because no engine runs it: {many(left_out, 'item')}.")


@app.command()
def statsnet(
    name: str = typer.Argument(help="of the new suite"),
    settings: list[str] | None = typer.Argument(
        None, help="key=value: n, direction, options of the machine whose statistics count"
    ),
    of: list[str] | None = typer.Option(None, help="suite of the set; several times"),
    layers: int = typer.Option(20, min=1, help="operations at most"),
    check: list[str] | None = typer.Option(
        None, help="suite that takes no part, for the order of machines; several times"
    ),
    equal: bool = typer.Option(False, "--equal", help="give every suite of the set the same cycles"),
    bound: float = typer.Option(0.02, help="largest error of a statistic that is accepted"),
    curve_bound: float = typer.Option(0.03, help="largest error of the speedup that is accepted"),
    csv: Path | None = typer.Option(None, help="write every number, target and got, to this file"),
    force: bool = typer.Option(False, help="overwrite a suite of this name"),
) -> None:
    """Make a small suite whose statistics are those of networks and suites together.

    At most 20 of their operations, with whole repeats, found by non-negative least squares on the preview's
    numbers. The suite is written only if statistics and speedup over compute units are within their bounds.
    """
    from apuflow.core.terminal import terminal_console
    from apuflow.statsnet.make import Request, check_free, make, report, write

    names, held_out = tuple(dict.fromkeys(of or ())), tuple(dict.fromkeys(check or ()))
    if not names:
        raise ConfigError("no suite is named", key="--of", remedy="as in --of resnet50 --of deepbench_gemm")
    for key, value in (("--bound", bound), ("--curve-bound", curve_bound)):
        if not 0 < value < 1:
            raise ConfigError("a share lies between 0 and 1", key=key, value=value, remedy="0.02 is 2 %")
    request = Request(names, tuple(settings or ()), layers, equal, held_out, bound, curve_bound)
    check_free(name, force=force)
    made = make(request)
    console = terminal_console()
    _show_statsnet(made, console)
    write_csv(csv, report(made))
    if not made.holds:
        console.print("not written: more --layers, or wider bounds")
        raise typer.Exit(1)
    for file in write(name, made, _command(name, request)):
        console.print(str(file))


def _command(name: str, request: Request) -> str:
    """The command line that makes this suite."""
    words = ["apuflow statsnet", name, *request.settings, *(f"--of {one}" for one in request.names)]
    words += [f"--layers {request.most}", *(["--equal"] if request.equal else [])]
    return " ".join(words)


def _show_statsnet(made: StatsNet, console: Console) -> None:
    from rich.table import Table

    from apuflow.core.terminal import number, table_of
    from apuflow.statsnet.make import FITTED, agreement

    mix, found = made.mix, made.operations
    console.print(
        f"{len(mix.repeats)} of {many(len(found.points), 'operation')}, for "
        f"{many(mix.iterations, 'iteration')} of the set. Each run once: {made.cost:.1%} of the cycles of "
        "an iteration."
    )
    if found.left_out:
        console.print(f"not in the set, because no engine runs it: {many(found.left_out, 'step')}.")
    table = Table(box=None, pad_edge=False)
    for heading in ("statistic", "rows", "largest error", "of", "target", "got"):
        table.add_column(heading, justify="left" if heading in ("statistic", "of") else "right")
    for statistic, rows in made.statistics.groupby(level="statistic", sort=False):
        largest = int(rows["error"].abs().argmax())
        worst = rows.iloc[largest]
        values = number(worst["target"]), number(worst["got"])
        error = f"{worst['error']:+.2%}"
        table.add_row(str(statistic), str(len(rows)), error, str(rows.index[largest][1]), *values)
    console.print(table)
    table = table_of((), ("compute units", "speedup of the set", "of the StatsNet", "error"), no_wrap=False)
    for row in made.speedups.reset_index().to_dict("records"):
        units, error = row["compute_units"], f"{row['error']:+.2%}"
        error += " (fitted)" if units in FITTED else ""
        table.add_row(str(units), number(row["target"]), number(row["got"]), error)
    console.print(table)
    if made.ranking is None:
        return
    for other in made.ranking.columns.drop("statsnet"):
        same, pairs = agreement(made.ranking["statsnet"], made.ranking[other])
        told = f"order of {len(made.ranking)} machines as on {other}: {same} of {pairs} pairs"
        if other != "set":
            alike, of = agreement(made.ranking["set"], made.ranking[other])
            told += f" (the set itself: {alike} of {of})"
        console.print(told)
