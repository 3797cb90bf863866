"""``apuflow reproduce``: a published study again, a verdict for each of its statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import CHECK, app, listed
from apuflow.commands.complete import names_of
from apuflow.commands.output import Csv, Json, give

if TYPE_CHECKING:
    from apuflow.studies.study import Study, TierName
    from apuflow.studies.verdicts import Verdict


@app.command(rich_help_panel=CHECK)
def reproduce(
    name: str = typer.Argument(
        help="study: a directory of configs/studies (apuflow list studies)",
        autocompletion=names_of(listed.studies),
    ),
    tier: str = typer.Option("preview", help="preview (minutes) or gem5"),
    cores: int = typer.Option(0, min=0, help="cores for snakemake; 0: all"),
    figures: bool = typer.Option(True, help="also draw the study's figures"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Repeat a published study and judge what it says.

    Each statement of configs/studies/NAME/study.yaml holds, does not hold, is not carried by the interval, or
    cannot be repeated. The page is results/NAME/verdicts.md. Exit status 1 unless every statement that can be
    repeated holds.
    """
    from apuflow.studies.repeat import repeat
    from apuflow.studies.study import load_study
    from apuflow.studies.verdicts import GOOD

    study = load_study(name)
    found, page = repeat(name, _tier(tier), cores, figures=figures)
    rows = [_row(study, one) for one in found]

    def show() -> None:
        for row in rows:
            typer.echo(f"{row['verdict']}: {row['says']}{': ' if row['why'] else ''}{row['why']}")
        typer.echo(f"page: {page}")

    give(rows, as_json, csv, show)
    if any(one["verdict"] not in GOOD for one in found):
        raise typer.Exit(1)


def _tier(given: str) -> TierName:
    if given == "gem5":
        return "gem5"
    if given == "preview":
        return "preview"
    raise typer.BadParameter(f"{given!r} is neither preview nor gem5", param_hint="--tier")


def _row(study: Study, one: Verdict) -> dict[str, Any]:
    from apuflow.studies.criterion import Interval
    from apuflow.studies.verdicts import text_of

    statement = study.statements[one["name"]]
    numbers = ", ".join(f"{name} {text_of(Interval(*value))}" for name, value in one["values"].items())
    about = {"statement": one["name"], "says": statement.says, "holds": statement.holds}
    return {**about, "verdict": one["verdict"], "why": one["why"], "numbers": numbers}
