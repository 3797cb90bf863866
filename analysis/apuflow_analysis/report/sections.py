"""Sections of a report: how far to trust it, how to make it again, its samples, its suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow.core import paths
from apuflow.core.engines import engine_facts
from apuflow.core.products import title
from apuflow_analysis.figures.axis import in_sentence, label
from apuflow_analysis.figures.interval import unmeasured
from apuflow_analysis.report.describe import SweepDescription, href, read_csv
from apuflow_analysis.tables.columns import PRODUCTS, WRONG, flagged
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.suite_sums import PHASES

Rows = Sequence[Mapping[str, Any]]
SuiteFiles = tuple[str | Path, str | Path, str | Path]
"""Of one suite: its items, times and summary (``apuflow.core.paths.suite_files``), CSV."""
_HOLDS = ("items", "times by phase and kind of layer", "summary")
_NUMBERS = {
    **{f"{phase}_ms": f"{phase} [ms]" for phase in PHASES},
    "total_ms": "whole [ms]",
    "images_per_s": "images per second",
    "tflops": "TFLOPS",
    "low_ms": "low [ms]",
    "high_ms": "high [ms]",
    "operations": "operations",
    "unmeasured": "unmeasured",
    "unmeasured_share": "unmeasured share of time",
    "stand_ins": "stand-ins",
    "stand_in_share": "stand-ins' share of time",
}
_TEXTS = {"products": "products", "engine_version": "engine's version"}


def trust(sweep: SweepDescription, frame: pd.DataFrame) -> list[str]:
    """A line for each engine: who made the numbers, and how they are known to be right."""
    return [_trust(str(engine), sweep, rows) for engine, rows in frame.groupby("engine", sort=True)]


def has_stand_ins(frame: pd.DataFrame) -> bool:
    """Whether kernels of this project took the place of the program's own in some row."""
    return "stand_in" in frame.columns and bool(frame["stand_in"].dropna().astype(str).str.len().any())


def measured(rows: pd.DataFrame) -> pd.Series[bool]:
    """Of each row whether its cycles are a model's and lie within what that model was measured on."""
    modelled = [not engine_facts(str(engine)).simulates for engine in rows["engine"]]
    return pd.Series(modelled, rows.index) & (rows["status"] == COMPLETED) & ~unmeasured(rows)


def _trust(engine: str, sweep: SweepDescription, rows: pd.DataFrame) -> str:
    facts = engine_facts(engine)
    done, inside = int((rows["status"] == COMPLETED).sum()), int(measured(rows).sum())
    if facts.simulates:
        said = [f"{done} of {len(rows)} runs completed and proved it"]
    else:
        said = [f"{inside} of {len(rows)} points lie within what was measured"] if inside else []
        if inside and sweep.accuracy:
            said[0] += f" ({sweep.accuracy.splitlines()[0].rstrip('.')})"
        if done > inside:
            said.append(f"{done - inside} of {len(rows)} points: error not measured")
    compared = int(rows.get("max_relative_error", pd.Series(dtype=float)).notna().sum())
    if compared:
        wrong = int(flagged(rows, WRONG).sum())
        said.append(f"{compared} compared with NumPy, {f'{wrong} wrong' if wrong else 'all right'}")
    said += [f"matrix products by {text}" for text in _products(rows)]
    extrapolated = int(rows.get("extrapolated", pd.Series(dtype=object)).notna().sum())
    if extrapolated:
        said.append(f"{extrapolated} extrapolated from the first workgroups of their launches")
    return f"{facts.title}: {'; '.join(said)}."


def _products(rows: pd.DataFrame) -> list[str]:
    """Whose kernels the matrix products are; where rows differ, of which workloads."""
    if PRODUCTS not in rows.columns:
        return []
    known = rows.dropna(subset=[PRODUCTS])
    found = [(title(str(kind)), own["workload"].unique()) for kind, own in known.groupby(PRODUCTS)]
    return [name + (f" ({', '.join(names)})" if len(found) > 1 else "") for name, names in found]


def repeat(sweep: SweepDescription) -> list[tuple[str, tuple[str, ...]]]:
    """Ways to make the report again: in words, and the commands."""
    report = paths.report(paths.under(sweep.name))
    archive = f"{sweep.name}.tar.zst"
    again = (
        f"apuflow archive unpack {archive} {sweep.name} && cd {sweep.name} && make env",
        f"rm {report} && .venv/bin/snakemake --cores all {report}",
        f".venv/bin/apuflow archive check ../{archive} --against .",
    )
    made = "In the project that made it; only what is missing or has changed is made"
    return [
        (made, (f"snakemake --cores all {report}",)),
        ("For someone else: pack the study, checked", (f"apuflow archive pack {sweep.name}",)),
        ("There, from the archive: every table and figure again, without a simulation", again),
    ]


@dataclass(frozen=True)
class Sample:
    """An iteration of which some operations were simulated.

    Attributes:
        total: its row in the table of totals.
        simulated: operations that were chosen and simulated, those with the most cycles first.
        audit: operations that were drawn at random and simulated, in the same order.
    """

    total: Mapping[str, Any]
    simulated: Rows
    audit: Rows


def load_samples(files: Sequence[str | Path]) -> tuple[Sample, ...]:
    """The samples of a sweep, from its tables of the operations and of the totals; none without them.

    Raises:
        AnalysisError: one of them cannot be read.
    """
    if not files:
        return ()
    members, totals = (read_csv(file, "table of a sample") for file in files)
    return tuple(_sample(total, members) for total in totals.to_dict("records"))


def _sample(total: Mapping[Any, Any], members: pd.DataFrame) -> Sample:
    at = "" if pd.isna(total["at"]) else total["at"]
    here = members["at"].fillna("") == at
    own = members[(members["suite"] == total["suite"]) & (members["engine"] == total["engine"]) & here]
    order = (own["measured"] * own["repeats"]).sort_values(ascending=False, kind="stable").index
    rows = own.loc[order]
    return Sample(
        {**total, "at": at},
        rows[rows["origin"] == "measured"].to_dict("records"),
        rows[rows["origin"] == "audit"].to_dict("records"),
    )


@dataclass(frozen=True)
class SuiteTable:
    """One suite of a sweep: a row for each of its iterations.

    Attributes:
        links: what each of its files holds, to the file from the page.
        columns: headings: engine, axes, direction, times and rates, what the times rest on.
        rows: texts; "" where an iteration has no such value.
        not_run: items of all iterations that nothing runs here.
        left_out: what the suite's source runs and the suite does not; "" for nothing.
    """

    name: str
    links: Mapping[str, str]
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    not_run: int
    left_out: str = ""


def load_suites(files: Iterable[SuiteFiles], out: str | Path) -> tuple[SuiteTable, ...]:
    """The suites of a sweep, with links from the page ``out``.

    Raises:
        AnalysisError: a summary cannot be read.
    """
    return tuple(_suite(each, out) for each in files)


def _suite(files: SuiteFiles, out: str | Path) -> SuiteTable:
    summary = read_csv(files[-1], "summary of a suite")
    names = list(summary.columns)
    choices = names[1 : names.index("direction") + 1]
    numbers = [name for name in _NUMBERS if name in summary and summary[name].notna().any()]
    texts = summary[choices].fillna("").astype(str)
    for name in numbers:
        form = "{:.0%}" if name.endswith("_share") else "{:,.4g}"
        texts[name] = ["" if pd.isna(value) else form.format(value) for value in summary[name]]
    tail = [name for name in _TEXTS if name in summary]
    texts[tail] = summary[tail].fillna("")
    headings = {**{name: in_sentence(label(name)) for name in choices}, **_NUMBERS, **_TEXTS}
    return SuiteTable(
        Path(files[0]).stem,
        {holds: href(file, out) for holds, file in zip(_HOLDS, files, strict=True)},
        tuple(headings[name] for name in (*choices, *numbers, *tail)),
        list(texts.itertuples(index=False, name=None)),
        int(summary["not_run"].sum()),
        "; ".join(summary["left_out"].dropna().unique()) if "left_out" in summary else "",
    )
