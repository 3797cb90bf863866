"""Counters and metrics as a document: ``python -m apuflow_analysis.metrics.doc`` writes docs/metrics.md."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from apuflow.core.files import write_files
from apuflow_analysis.counters.table import COUNTERS
from apuflow_analysis.metrics.metric import QUANTITIES, Metric
from apuflow_analysis.metrics.paper import PAPER
from apuflow_analysis.metrics.standard import STANDARD, TIME

_INTRODUCTION = """\
# Counters and metrics

Every engine reports the same counters. Metrics are formulas over counters and machine parameters (options of
`apu_se.py` with `_` for `-`). `python -m apuflow_analysis.metrics.doc` writes this page from the tables in
`analysis/apuflow_analysis`, which also name the source in gem5 of each formula.

Sums run over all compute units, caches and channels; numerators and denominators are summed before they are
divided. A metric is empty where an engine or release lacks its counters. A value outside its range stays, and
column `flags` names it. A metric "with the CPU's part" counts the whole simulated machine, unless the
statistics are reset around the kernel.
"""

_AGGREGATES = {"sum": "", "last": " (of the last dump)", "max": " (largest of the dumps)"}


def render() -> str:
    """The document's text."""
    parts = [_INTRODUCTION]
    for title, metrics in (
        ("Time", TIME),
        ("The metrics of the DNNMark paper", PAPER),
        ("Efficiency, caches, memory, mix, balance, host", STANDARD),
    ):
        parts.append(f"## {title}\n\n{_metrics(metrics)}")
    quantities = ((f"`{q.name}`", _formula(q.formula), q.meaning) for q in QUANTITIES)
    parts.append("## Quantities in formulas\n\n" + _table(("name", "formula", "meaning"), quantities))
    counters = (
        (
            f"`{c.name}`",
            c.unit,
            c.meaning + _AGGREGATES[c.aggregate],
            f"`{c.stats}`" if c.stats else "computed",
        )
        for c in COUNTERS
    )
    parts.append(
        "## Counters\n\nNames of gem5 that begin with a dot or `CUs*` (all compute units) belong to the\n"
        "shader (`system.cpuN`), the others to `system`. Dumps of a run add up, unless a row differs.\n\n"
        + _table(("name", "unit", "meaning", "gem5 statistics"), counters)
    )
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(description="Write docs/metrics.md from the tables in the code.")
    parser.add_argument("file", nargs="?", type=Path, default=Path("docs/metrics.md"))
    write_files({parser.parse_args(arguments).file: render().encode()})


def _metrics(metrics: Iterable[Metric]) -> str:
    rows = ((f"`{m.name}`", m.unit, _formula(m.formula), _range(m), _meaning(m)) for m in metrics)
    return _table(("name", "unit", "formula", "range", "meaning"), rows)


def _formula(text: str) -> str:
    return "`" + re.sub(r" ([*/]|//) ", r"\1", text) + "`"


def _meaning(metric: Metric) -> str:
    return f"{metric.meaning}. *{metric.caveat}*" if metric.caveat else metric.meaning


def _range(metric: Metric) -> str:
    high = f"`{metric.high}`" if isinstance(metric.high, str) else f"{metric.high:g}"
    return f"≥{metric.low:g}" if high == "inf" else f"{metric.low:g}–{high}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    main()
