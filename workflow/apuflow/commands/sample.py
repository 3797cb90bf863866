"""``apuflow sample SWEEP``: whole networks from the few of their operations that gem5 has run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.study.sampled_suites import Sampled


def register(app: typer.Typer) -> None:
    """Add ``apuflow sample``."""
    app.command()(sample)


def sample(
    sweep: str = typer.Argument(help="name of a sweep with suites"),
    bound: float = typer.Option(
        0.03, help="half width of the interval that is asked for, as a share of the total"
    ),
    confidence: float = typer.Option(0.95, help="probability that the interval holds the total"),
    budget: float = typer.Option(
        0.1, help="largest share of the cycles of all distinct operations to simulate"
    ),
    audit: int = typer.Option(3, help="operations to simulate that take no part in the estimate"),
    following: bool = typer.Option(
        False, "--next", help="print the run records to make next, or, if none, those that are there"
    ),
    csv: Annotated[
        Path | None, typer.Option(help="write every operation, measured or estimated, to this file")
    ] = None,
) -> None:
    """Estimate the cycles of whole networks from the runs that are there, and say which runs to make next.

    The preview tells how long every operation takes beside the others; gem5's runs of some correct it. Run
    `snakemake --cores 8 $(apuflow sample SWEEP --next)` until nothing follows.
    """
    from apuflow.core.errors import ConfigError
    from apuflow.study.sampled_suites import sample_suites, write_members
    from apuflow.study.sampling import Aim

    for name, value in (("bound", bound), ("confidence", confidence), ("budget", budget)):
        if not 0 < value <= 1 or (name == "confidence" and value == 1):
            raise ConfigError(
                "a share lies between 0 and 1", key=f"--{name}", value=value, remedy="as in 0.03 for 3 %"
            )
    if audit < 0:
        raise ConfigError("a number of operations is not below 0", key="--audit", value=audit)
    found = sample_suites(sweep, Aim(bound, confidence, budget, audit))
    if csv is not None:
        write_members(found, csv)
    if following:
        records = [record for one in found for record in one.following]
        made = [record for one in found for record in one.made]
        typer.echo("\n".join(dict.fromkeys(records or made)))
        return
    _show(found, bound)


def _show(found: list[Sampled], bound: float) -> None:
    from rich.table import Table

    from apuflow.study.terminal import terminal_console

    table = Table(box=None, pad_edge=False)
    for heading in ("suite", "at"):
        table.add_column(heading, overflow="fold")
    for heading in ("cycles", "+-", "measured", "audit", "next"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        measured = one.estimate.members["is_measured"]
        table.add_row(
            f"{one.suite} ({one.engine})",
            one.label or "-",
            f"{one.estimate.total:.4g}",
            f"{one.estimate.relative:.1%}",
            f"{measured.sum()}/{len(measured)}",
            _audit(one),
            str(len(one.following)) if one.following else "met" if one.is_met else "budget",
        )
    console = terminal_console()
    console.print(table)
    console.print(
        "cycles: of one iteration, estimated but for the operations measured. +-: half width of the "
        "interval. audit: operations held apart whose cycles lie in their own interval. next: runs to make; "
        f"met: the interval is within {bound:.1%}; budget: it is not, and no more may be run."
    )
    left_out = sum(one.left_out for one in found)
    if left_out:
        console.print(f"not in the totals, because no engine runs it: {many(left_out, 'item')}.")


def _audit(one: Sampled) -> str:
    if one.audit.empty:
        return "-"
    inside = one.audit["cycles"].between(one.audit["low"], one.audit["high"])
    return f"{inside.sum()}/{len(inside)}"
