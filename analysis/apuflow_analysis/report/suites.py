"""A report's section on suites: time of each iteration by phase, and links to the tables of the items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from apuflow_analysis.figures.axis import in_sentence, label
from apuflow_analysis.report.describe import href, read_csv
from apuflow_analysis.tables.suites import PHASES

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
_SHARES = ("unmeasured_share", "stand_in_share")


@dataclass(frozen=True)
class SuiteTable:
    """One suite of a sweep: a row for each of its iterations.

    Attributes:
        name: of the suite.
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
    """The suites of a sweep.

    Args:
        files: of each suite.
        out: the page that links to them.

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
        form = "{:.0%}" if name in _SHARES else "{:,.4g}"
        texts[name] = ["" if pd.isna(value) else form.format(value) for value in summary[name]]
    tail = [name for name in ("products", "engine_version") if name in summary]
    texts[tail] = summary[tail].fillna("")
    return SuiteTable(
        Path(files[0]).stem,
        {holds: href(file, out) for holds, file in zip(_HOLDS, files, strict=True)},
        (
            *(in_sentence(label(name)) for name in choices),
            *(_NUMBERS[name] for name in numbers),
            *(_TEXTS[name] for name in tail),
        ),
        list(texts.itertuples(index=False, name=None)),
        int(summary["not_run"].sum()),
        "; ".join(summary["left_out"].dropna().unique()) if "left_out" in summary else "",
    )
