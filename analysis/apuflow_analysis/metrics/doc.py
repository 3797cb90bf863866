"""Counters and metrics as a document: ``python -m apuflow_analysis.metrics.doc`` writes docs/metrics.md."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import jinja2

from apuflow.core.files import write_files
from apuflow_analysis.counters.table import COUNTERS
from apuflow_analysis.metrics.compute import METRICS, QUANTITIES, Metric

_TITLES = {
    "time": "Time",
    "paper": "The metrics of the DNNMark paper",
    "standard": "Efficiency, caches, memory, mix, balance, host",
    "energy": "Energy: relative, not validated on AMD",
}
_AGGREGATES = {"sum": "", "last": " (of the last dump)", "max": " (largest of the dumps)"}


def render() -> str:
    """The document's text."""
    file = Path(__file__).with_name("metrics.md.j2")
    template = jinja2.Template(file.read_text(encoding="utf-8"), trim_blocks=True)
    tables = {"metrics": METRICS, "quantities": QUANTITIES, "counters": COUNTERS}
    words = {"titles": _TITLES, "aggregates": _AGGREGATES, "formula": _formula, "limits": _range}
    return str(template.render(**tables, **words))


def _formula(text: str) -> str:
    return "`" + re.sub(r" ([*/]|//) ", r"\1", text) + "`"


def _range(metric: Metric) -> str:
    high = f"`{metric.high}`" if isinstance(metric.high, str) else f"{metric.high:g}"
    return f"≥{metric.low:g}" if high == "inf" else f"{metric.low:g}–{high}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(description="Write docs/metrics.md from the tables in the code.")
    parser.add_argument("file", nargs="?", type=Path, default=Path("docs/metrics.md"))
    write_files({parser.parse_args(arguments).file: render().encode()})


if __name__ == "__main__":
    main()
