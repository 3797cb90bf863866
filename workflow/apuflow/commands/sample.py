"""``apuflow sample SWEEP``: whole networks from the few of their operations that gem5 has run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.configure.sweep_keys import Sampling
    from apuflow.sampling.suites import Sampled


def register(app: typer.Typer) -> None:
    """Add ``apuflow sample``."""
    app.command()(sample)


def sample(
    sweep: Annotated[str, typer.Argument(help="name of a sweep with suites")],
    bound: Annotated[
        float | None, typer.Option(help="half width of the total's interval over the total: 0.03 is 3 %")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="probability that the interval holds the total")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="largest share of the cycles of all distinct operations to simulate")
    ] = None,
    audit: Annotated[int | None, typer.Option(help="operations at most that are drawn at random")] = None,
    seed: Annotated[int | None, typer.Option(help="another number draws another audit")] = None,
    following: Annotated[
        bool,
        typer.Option("--next", help="print the run records to make next, or, if none, those that are there"),
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(help="write every operation, measured or estimated, to this file")
    ] = None,
) -> None:
    """Estimate the cycles of whole networks from the runs that are there, and say which runs to make next.

    The preview tells how long every operation takes beside the others; gem5's runs of some correct it. What
    is asked of the estimate stands in the sweep's file (key sampling), else it has defaults; options come
    first. `snakemake --cores 8 results/SWEEP/report.html` makes the runs of a sweep with that key.
    """
    from apuflow.configure.sweep_keys import Sampling
    from apuflow.core.files import write_csv
    from apuflow.plan.campaign import Campaign
    from apuflow.sampling.suites import sample_suites
    from apuflow.sampling.tables import member_table

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
        return
    _show(found, aim)


def _show(found: list[Sampled], aim: Sampling) -> None:
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
    left_out = sum(one.left_out for one in found)
    if left_out:
        console.print(f"not in the totals, because no engine runs it: {many(left_out, 'item')}.")
