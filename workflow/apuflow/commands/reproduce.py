"""``apuflow reproduce``: a published study again, a verdict for each of its statements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import app

if TYPE_CHECKING:
    from apuflow.studies.study import TierName
    from apuflow.studies.verdicts import Verdict


@app.command()
def reproduce(
    name: str = typer.Argument(
        "", metavar="[NAME]", help="study: a directory of configs/studies; none: list them"
    ),
    tier: str = typer.Option("preview", help="preview (minutes) or gem5"),
    cores: int = typer.Option(0, min=0, help="cores for snakemake; 0: all"),
    figures: bool = typer.Option(True, help="also draw the study's figures"),
) -> None:
    """Repeat a published study and judge what it says.

    Each statement of configs/studies/NAME/study.yaml holds, does not hold, is not carried by the interval, or
    cannot be repeated. The page is results/NAME/verdicts.md. Exit status 1 unless every statement that can be
    repeated holds.
    """
    from apuflow.studies.study import load_study, study_names
    from apuflow.studies.verdicts import GOOD

    if not name:
        for known in study_names():
            typer.echo(f"{known}: {load_study(known).title}")
        return
    study = load_study(name)
    found, page = _judged(name, tier, cores or len(os.sched_getaffinity(0)), figures=figures)
    for one in found:
        why = f": {one['why']}" if one["why"] else ""
        typer.echo(f"{one['verdict']}: {study.statements[one['name']].says}{why}")
    typer.echo(f"page: {page}")
    if any(one["verdict"] not in GOOD for one in found):
        raise typer.Exit(1)


def _judged(name: str, given: str, cores: int, *, figures: bool) -> tuple[list[Verdict], Path]:
    from apuflow.studies.repeat import repeat

    tier: TierName = "gem5" if given == "gem5" else "preview"
    if given != tier:
        raise typer.BadParameter(f"{given!r} is neither preview nor gem5", param_hint="--tier")
    return repeat(name, tier, cores, figures=figures)
