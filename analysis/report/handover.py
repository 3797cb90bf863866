"""What the receiver of a report needs first and last: how far to trust it, and how to make it again."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.report.describe import SweepDescription
from analysis.tables.records import COMPLETED
from apuflow.core import paths
from apuflow.core.engines import engine_facts


def trust(sweep: SweepDescription, frame: pd.DataFrame) -> str:
    """On a line or two: who made the numbers, how they are known to be right, what to be careful with."""
    return " ".join(_trust(sweep, frame))


def _trust(sweep: SweepDescription, frame: pd.DataFrame) -> Iterator[str]:
    for engine, rows in frame.groupby("engine", sort=True):
        completed = int((rows["status"] == COMPLETED).sum())
        name = engine_facts(str(engine)).title
        if engine_facts(str(engine)).simulates:
            yield f"{name}: each of the {completed} completed runs proved that it finished."
        else:
            yield f"{name}: {completed} rows of a model. {sweep.accuracy.partition('. ')[0].rstrip('.')}."
    failed = int((frame["status"] != COMPLETED).sum())
    if failed:
        yield f"{failed} points did not complete and have no numbers."
    flagged = int((frame["flags"].fillna("") != "").sum())
    if flagged:
        yield f"{flagged} rows carry a flag: read it before you use them."
    if "stand_in" in frame.columns and frame["stand_in"].dropna().astype(str).str.len().any():
        yield "Column stand_in names kernels that stand in for the program's own."


def repeat(sweep: SweepDescription) -> list[tuple[str, tuple[str, ...]]]:
    """Ways to make the report again: in words, and the commands."""
    report = paths.report(paths.under(sweep.name))
    archive = f"{sweep.name}.tar.zst"
    return [
        (
            "In the project that made it; only what is missing or has changed is made",
            (f"snakemake --cores all {report}",),
        ),
        ("For someone else: pack the study, checked", (f"apuflow archive {sweep.name}",)),
        (
            "There, from the archive: every table and figure again, without a simulation",
            (
                f"apuflow unpack {archive} {sweep.name} && cd {sweep.name} && make env",
                f"rm {report} && .venv/bin/snakemake --cores all {report}",
                f".venv/bin/apuflow archive --verify ../{archive} --against .",
            ),
        ),
    ]
