"""Verdicts of a study's statements, and their page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_files
from apuflow.core.markdown import head, row
from apuflow.studies.criterion import Interval, exactly, judge
from apuflow.studies.numbers import NotThere, number
from apuflow.studies.study import TIERS, Statement, Study, TierName

HOLDS: Final = "holds"
NOT: Final = "does not hold"
OPEN: Final = "not carried by the interval"
CANNOT: Final = "cannot be repeated"
FAILED: Final = "no number"
"""The sweep should have it: a run failed, or the file names what is not there."""
GOOD: Final = (HOLDS, CANNOT)
"""Verdicts with which the command ends well."""
Verdict = dict[str, Any]


def verdicts(study: Study, tier: TierName, frame: pd.DataFrame) -> list[Verdict]:
    """The verdict of each statement, from the tables of the tier's sweep."""
    return [
        {"name": name, **_verdict(statement, tier, frame)} for name, statement in study.statements.items()
    ]


def _verdict(statement: Statement, tier: TierName, frame: pd.DataFrame) -> Verdict:
    if why := statement.cannot.get(tier):
        return {"verdict": CANNOT, "why": why, "values": {}}
    try:
        values = {name: number(frame, each, statement.tolerance) for name, each in statement.values.items()}
        found = judge(statement.holds, values, "holds")
        central = judge(
            statement.holds, {name: exactly(each.value) for name, each in values.items()}, "holds"
        )
    except (NotThere, ConfigError) as error:
        return {"verdict": FAILED, "why": "; ".join(str(error).split("\n  ")), "values": {}}
    except ZeroDivisionError:
        return {"verdict": FAILED, "why": "a base may be 0", "values": {}}
    why = "" if found is not None else f"the middle of the intervals says {'yes' if central else 'no'}"
    verdict = {True: HOLDS, False: NOT, None: OPEN}[found]
    return {"verdict": verdict, "why": why, "values": {name: list(each) for name, each in values.items()}}


def write_page(study: Study, tier: TierName, found: list[Verdict], root: Path = Path()) -> Path:
    """Write a tier's verdicts, and the page of all tiers that have been judged; returns the page's path."""
    page, own = root / paths.verdicts_page(study.name), root / paths.verdicts(study.name, tier)
    judged = {tier: found}
    for other in TIERS:
        file = root / paths.verdicts(study.name, other)
        if other != tier and other in study.tiers and file.exists():
            judged[other] = json.loads(file.read_text(encoding="utf-8"))
    ordered = {name: judged[name] for name in TIERS if name in judged}
    lines = "\n".join(_page(study, ordered)) + "\n"
    write_files({own: (json.dumps(found, indent=1) + "\n").encode(), page: lines.encode()})
    return page


def _page(study: Study, judged: Mapping[TierName, list[Verdict]]) -> Iterator[str]:
    yield from (f"# {study.title}", "", study.source, "", f"**Different here.** {study.differs}", "")
    for tier, found in judged.items():
        sweep = study.tiers[tier].sweep if tier in study.tiers else None
        yield from (f"## Tier {tier}: sweep {sweep}", "")
        yield from head(("the paper says", "where", "holds if", "verdict", "numbers", "published"))
        for one in found:
            if one["name"] in study.statements:
                yield _line(study.statements[one["name"]], one)
        yield ""
        if study.figures:
            yield from ("Figures:", "", *_figures(study, sweep), "")
    if study.cannot or any(tier.cannot for tier in study.tiers.values()):
        yield from ("## What is not repeated", "")
        yield from (f"- Tier {name}: {tier.cannot}" for name, tier in study.tiers.items() if tier.cannot)
        yield from (f"- {each.what}: {each.because}" for each in study.cannot)


def _figures(study: Study, sweep: str | None) -> Iterator[str]:
    for name, shows in study.figures.items():
        file = paths.figure(paths.under(str(sweep)), name).removeprefix(f"{paths.RESULTS}/")
        yield f"- {shows}: [{name}](../{file})"


def _line(statement: Statement, one: Verdict) -> str:
    texts = [f"{name} {text_of(Interval(*value))}" for name, value in one["values"].items()]
    published = [f"{name} {value:g}" for name, value in statement.expected.items()]
    verdict = f"**{one['verdict']}**" + (f": {one['why']}" if one["why"] else "")
    cells = (
        *(statement.says, statement.source, f"`{statement.holds}`", verdict),
        *(", ".join(texts), ", ".join(published)),
    )
    return row(cells)


def text_of(value: Interval) -> str:
    """A number and its interval: ``0.41 (0.37 to 0.45)``."""
    ends = f" ({value.low:.3g} to {value.high:.3g})" if value.low < value.high else ""
    return f"{value.value:.3g}{ends}"
