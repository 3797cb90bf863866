"""Networks of one's own: ``apuflow network``; totals from a sample of runs: ``apuflow sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import ASK, KERNELS, app, complete, group
from apuflow.commands.output import Csv, Json, give, print_frame
from apuflow.core.errors import ConfigError
from apuflow.core.words import many

if TYPE_CHECKING:
    from rich.console import Console

    from apuflow.configure.sweep_keys import Sampling
    from apuflow.sampling.suites import Sampled
    from apuflow.statsnet.make import Request, StatsNet

network = group(
    "network", KERNELS, "Networks of your own: import a model, or represent many networks by one suite."
)


@network.command("import")
def import_model(
    model: str = typer.Argument(
        help="an ONNX file, or package.module:Name (file.py:Name) of a PyTorch module"
    ),
    name: str = typer.Argument(help="of the new network and its suite"),
    shape: str = typer.Option(
        "nx3x224x224",
        help="of the inputs of a PyTorch module; names are open sizes: nxsequence:int64, nxsequence=64x768",
    ),
    n: int = typer.Option(1, min=1, help="images of an iteration"),
    partial: bool = typer.Option(
        False, "--partial", help="leave out operators that are not known; the suite names them"
    ),
) -> None:
    """Make a network of your own from an ONNX file or a PyTorch module: a table, and a suite.

    Weights are not read. ONNX files need the library onnx, modules need torch: optional extras of apuflow.
    """
    from apuflow.core.terminal import terminal_console
    from apuflow.workloads.network import add_network

    files, said = add_network(model, name, shape, n, Path(), partial=partial)
    console = terminal_console()
    for file in files:
        console.print(str(file))
    console.print(said)


@network.command()
def represent(
    name: str = typer.Argument(help="of the new suite"),
    settings: list[str] | None = typer.Argument(
        None, help="key=value: n, direction, options of the machine whose statistics count"
    ),
    of: list[str] | None = typer.Option(
        None, help="suite of the set; several times", autocompletion=complete.suite
    ),
    layers: int = typer.Option(20, min=1, help="operations at most"),
    check: list[str] | None = typer.Option(
        None, help="suite that takes no part, for the order of machines; several times"
    ),
    equal: bool = typer.Option(False, "--equal", help="give every suite of the set the same cycles"),
    bound: float = typer.Option(0.02, help="largest error of a statistic that is accepted"),
    curve_bound: float = typer.Option(0.03, help="largest error of the speedup that is accepted"),
    as_json: Json = False,
    csv: Csv = None,
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
    give(report(made), as_json, csv, lambda: _show_statsnet(made, terminal_console()))
    if not made.holds:
        typer.echo("not written: more --layers, or wider bounds", err=as_json)
        raise typer.Exit(1)
    for file in write(name, made, _command(name, request)):
        typer.echo(str(file), err=as_json)


def _command(name: str, request: Request) -> str:
    """The command line that makes this suite."""
    words = ["apuflow network represent", name, *request.settings, *(f"--of {one}" for one in request.names)]
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


@app.command(rich_help_panel=ASK)
def sample(
    sweep: str = typer.Argument(help="name of a sweep with suites", autocompletion=complete.sweep),
    bound: float | None = typer.Option(
        None, help="half width of the total's interval over the total: 0.03 is 3 %"
    ),
    confidence: float | None = typer.Option(None, help="probability that the interval holds the total"),
    budget: float | None = typer.Option(
        None, help="largest share of the cycles of all distinct operations to simulate"
    ),
    audit: int | None = typer.Option(None, help="operations at most that are picked at random"),
    seed: int | None = typer.Option(None, help="another number picks other operations for the audit"),
    following: bool = typer.Option(
        False, "--next", help="print the run records to make next, or, if none, those that are there"
    ),
    operations: bool = typer.Option(
        False, "--operations", help="a row per operation, measured or estimated, instead of one per suite"
    ),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Estimate the cycles of whole networks from the runs that are there, and say which runs to make next.

    The preview computes the share of every operation. gem5's runs of some operations correct it. Options
    here override key sampling of the sweep's file. `snakemake --cores 8 results/SWEEP/report.html` makes the
    runs of a sweep with that key.
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
    if following:
        records = [record for one in found for record in one.following]
        made = [record for one in found for record in one.made]
        typer.echo("\n".join(dict.fromkeys(records or made)))
    elif operations:
        members = member_table(found)
        give(members, as_json, csv, lambda: print_frame(members))
    else:
        give([_sample_row(one) for one in found], as_json, csv, lambda: _show_samples(found, aim))


def _sample_row(one: Sampled) -> dict[str, Any]:
    measured = one.estimate.members["is_measured"]
    return {
        "suite": one.suite,
        "engine": one.engine,
        "at": one.label,
        "cycles": one.estimate.total,
        "relative_half_width": one.estimate.relative,
        "measured": int(measured.sum()),
        "operations": len(measured),
        "audited": len(one.audit),
        "audited_inside": int(one.audit["inside"].sum()) if len(one.audit) else 0,
        "next": len(one.following),
        "bound_is_met": bool(one.is_met),
    }


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
