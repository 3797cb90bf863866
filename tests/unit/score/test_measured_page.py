"""docs/measured/preview.md, and what reports say of the preview's error."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from places import ROOT

from apuflow.score.errors import measured_error
from apuflow.score.measured import PAGE, page, row


@pytest.fixture(scope="module")
def written() -> str:
    return (ROOT / PAGE).read_text(encoding="utf-8")


def test_the_page_follows_the_model_and_the_recorded_runs(written: str) -> None:
    assert written == page(), "run: python -m apuflow.score.measured"


def test_a_row_has_median_90th_percentile_and_largest_error_without_signs() -> None:
    """Of 10, 20, 30 and 40 %: 25, then 30 + 0.7 * 10, then 40."""
    assert row("x", pd.Series([0.1, -0.2, 0.3, -0.4])) == ("x", "4", "25.0", "37.0", "40.0")


def test_reports_give_the_errors_of_the_page(written: str) -> None:
    said = measured_error()
    for name, runs in (("one kernel alone", "gem5 runs"), ("whole layers drawn at random", "layers drawn")):
        found = re.search(rf"\| {name} \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|", written)
        assert found is not None
        number, median, high = found.groups()
        assert f"{number.replace(',', '')} {runs}" in said
        assert median in said and high in said
    ordered, pairs = map(int, re.findall(r"\| all \|.*\| (\d+) of (\d+) \|", written)[0])
    assert f"{100 * ordered / pairs:.1f} % are in its order" in said


def test_the_readme_gives_the_errors_of_the_page(written: str) -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for name, about in (
        ("one kernel alone", "recorded runs"),
        ("whole layers drawn at random", "random layers"),
    ):
        found = re.search(rf"\| {name} \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", written)
        assert found is not None
        number, median, high, largest = found.groups()
        told = rf"On {number} {about}[^.]*? {median} %[^%]* {high} %[^%]* {float(largest):.0f} %"
        assert re.search(told, readme, re.IGNORECASE), told
