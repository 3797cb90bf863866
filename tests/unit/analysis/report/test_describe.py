"""Links of a report, and what it says of its sweep."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from apuflow_analysis.report.describe import SweepDescription, href
from apuflow_analysis.report.sections import trust


def test_links_are_relative_and_quoted(tmp_path: Path) -> None:
    assert href(tmp_path / "runs" / "a b#c" / "run.json", tmp_path / "results" / "x" / "report.html") == (
        "../../runs/a%20b%23c/run.json"
    )


def test_a_reader_learns_where_inputs_lie_if_not_where_they_usually_do() -> None:
    told = [SweepDescription.of({"name": "x", "inputs": place}, []).fixed for place in ("caches", "memory")]
    assert told == [{}, {"inputs": "memory"}]


def test_a_reader_learns_that_not_all_workgroups_ran() -> None:
    described = SweepDescription.of({"name": "part", "workgroups": {"fills": 8}}, ["relu_fwd"])
    assert described.fixed == {"workgroups.fills": "8"}
    rows = pd.DataFrame(
        {
            "engine": ["gem5-kernels"] * 3,
            "status": ["completed"] * 3,
            "flags": [""] * 3,
            "extrapolated": [None, "extrapolated from 136 of 1,000 workgroups, +- 3.0%", None],
        }
    )
    [line] = trust(described, rows)
    assert "1 extrapolated from the first workgroups of their launches" in line
    [line] = trust(described, rows.assign(extrapolated=None))
    assert "extrapolated" not in line
