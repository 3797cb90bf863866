"""Counters and metrics as a document: ``python -m apuflow_analysis.metrics.doc`` writes docs/metrics.md."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from apuflow.core.files import write_files
from apuflow_analysis.counters.table import COUNTERS
from apuflow_analysis.metrics.metric import QUANTITIES, Metric
from apuflow_analysis.metrics.paper import PAPER
from apuflow_analysis.metrics.standard import STANDARD, TIME

_INTRODUCTION = """\
# Counters and metrics

Every engine reports the same counters; metrics are formulas over counters and machine parameters (options of
apu_se.py with `-` written `_`). This page is written from the tables that compute them
(`counters/table.py` and `metrics/*.py` of `analysis/apuflow_analysis`) by
`python -m apuflow_analysis.metrics.doc`; a test keeps it in step.

Sums run over all compute units, caches and channels, and numerators and denominators are summed before they
are divided. A metric whose counters an engine or release does not yield is empty. A value outside its range
stays as it is and is named in the column `flags`, as is an identity of the statistics that does not hold.
"""


def render() -> str:
    """The document's text."""
    parts = [_INTRODUCTION]
    for title, metrics in (
        ("Time", TIME),
        ("The metrics of the DNNMark paper", PAPER),
        ("Efficiency, caches, memory, mix, balance, host", STANDARD),
    ):
        parts.append(f"## {title}\n\n{_metrics(metrics)}")
    quantities = ((f"`{q.name}`", f"`{q.formula}`", q.meaning) for q in QUANTITIES)
    parts.append("## Quantities in formulas\n\n" + _table(("name", "formula", "meaning"), quantities))
    counters = (
        (f"`{c.name}`", c.unit, c.meaning, f"`{c.stats}`" if c.stats else "computed", c.aggregate)
        for c in COUNTERS
    )
    parts.append(
        "## Counters\n\nThe fourth column is where gem5 keeps it, `CUs*` standing for all compute units; "
        "names that begin with a dot or `CUs*` belong to the shader (`system.cpuN`), the others to `system`. "
        "The last column is how the dumps of one run are put together.\n\n"
        + _table(("name", "unit", "meaning", "gem5 statistics", "dumps"), counters)
    )
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(description="Write docs/metrics.md from the tables in the code.")
    parser.add_argument("file", nargs="?", type=Path, default=Path("docs/metrics.md"))
    write_files({parser.parse_args(arguments).file: render().encode()})


def _metrics(metrics: Iterable[Metric]) -> str:
    rows = ((f"`{m.name}`", m.unit, f"`{m.formula}`", _range(m), _meaning(m), m.source) for m in metrics)
    return _table(("name", "unit", "formula", "range", "meaning", "source"), rows)


def _meaning(metric: Metric) -> str:
    return f"{metric.meaning}. *{metric.caveat}*" if metric.caveat else metric.meaning


def _range(metric: Metric) -> str:
    high = f"`{metric.high}`" if isinstance(metric.high, str) else f"{metric.high:g}"
    return f"{metric.low:g} and more" if high == "inf" else f"{metric.low:g} to {high}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    main()
