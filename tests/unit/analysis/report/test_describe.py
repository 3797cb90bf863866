"""Links of a report."""

from __future__ import annotations

from pathlib import Path

from analysis.report.describe import href


def test_links_are_relative_and_quoted(tmp_path: Path) -> None:
    assert href(tmp_path / "runs" / "a b#c" / "run.json", tmp_path / "results" / "x" / "report.html") == (
        "../../runs/a%20b%23c/run.json"
    )
