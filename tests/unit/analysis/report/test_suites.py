"""A report's section on suites."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from result_frames import grid

from apuflow.core.errors import AnalysisError
from apuflow_analysis.report import SweepDescription, render
from apuflow_analysis.report.sections import SuiteFiles, load_suites

SUMMARY = """\
suite,engine,num_compute_units,direction,status,images,forward_ms,backward_ms,update_ms,communication_ms,\
total_ms,low_ms,high_ms,operations,unmeasured,unmeasured_share,stand_ins,stand_in_share,engine_version,\
overlapped_ms,images_per_s,flop,tflops,not_run,evidence,left_out
net,preview,4,both,completed,8,12.5,25,,,37.5,30,50,40,31,0.775,0,0,preview 34,37.5,213.3333,1000,0.0912,1,,\
The loss.
net,preview,16,both,gem5_panic,8,,,,,,,,0,0,,0,,,,,0,,1,gem5 ended,The loss.
"""


@pytest.fixture
def files(tmp_path: Path) -> SuiteFiles:
    """The tables of one suite in which an iteration failed."""
    items, times, summary = (tmp_path / f"items/net{end}.csv" for end in ("", ".times", ".summary"))
    items.parent.mkdir()
    summary.write_text(SUMMARY)
    return items, times, summary


def test_an_iteration_has_its_times_and_what_tells_it_from_others(files: SuiteFiles, tmp_path: Path) -> None:
    """Phases that no iteration has take no column."""
    [suite] = load_suites([files], tmp_path / "report.html")
    assert suite.name == "net"
    assert suite.columns[1:] == (
        "compute units", "direction", "forward [ms]", "backward [ms]", "whole [ms]", "images per second",
        "TFLOPS", "low [ms]", "high [ms]", "operations", "unmeasured", "unmeasured share of time",
        "stand-ins", "stand-ins' share of time", "engine's version",
    )  # fmt: skip
    assert suite.rows == [
        ("preview", "4", "both", "12.5", "25", "37.5", "213.3", "0.0912", "30", "50", "40", "31", "78%", "0",
         "0%", "preview 34"),
        ("preview", "16", "both", "", "", "", "", "", "", "", "0", "0", "", "0", "", ""),
    ]  # fmt: skip
    assert suite.not_run == 2
    assert list(suite.links.values()) == ["items/net.csv", "items/net.times.csv", "items/net.summary.csv"]


def test_the_page_links_to_the_items_and_says_what_no_sum_has(files: SuiteFiles, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    frame = grid({"num_compute_units": [4]}, workloads=["net"])
    render(SweepDescription("nets"), {str(tmp_path / "net.csv"): frame}, [], [], page, suites=[files])
    source = page.read_text()
    section = source[source.index('<section id="suites"') :].partition("</section>")[0]
    assert re.findall('href="([^"]+)"', section) == [
        "items/net.csv",
        "items/net.times.csv",
        "items/net.summary.csv",
    ]
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", section)).split())
    assert "Left out or run otherwise than by its source: The loss." in text
    assert "2 items are in no sum" in text and "12.5 25 37.5 213.3" in text
    assert source.count('href="#suites"') == 2


def test_a_sweep_without_suites_has_no_section(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    frame = grid({"num_compute_units": [4]}, workloads=["softmax_fwd"])
    render(SweepDescription("s"), {str(tmp_path / "softmax_fwd.csv"): frame}, [], [], page)
    assert "suites" not in page.read_text().partition("<script")[0]


def test_a_summary_that_is_gone_is_named(files: SuiteFiles, tmp_path: Path) -> None:
    Path(files[-1]).unlink()
    with pytest.raises(AnalysisError, match="cannot read the summary of a suite"):
        load_suites([files], tmp_path / "report.html")
