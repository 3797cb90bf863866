"""A report's section on a sample."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from result_frames import HOSTILE, grid

from apuflow.core.errors import AnalysisError
from apuflow_analysis.report import SweepDescription, render
from apuflow_analysis.report.sections import load_samples

MEMBERS = """suite,engine,at,point,operation,kernels,repeats,predicted,\
origin,measured,measured_doubt,cycles,low,high,cost,error,inside
net,gem5-kernels,n1,a-0,small,k,1,1000,measured,1100,0,1100,1100,1100,1000,,
net,gem5-kernels,n1,b-0,large,k,3,2000,measured,2400,0.045,2390,2300,2480,250,,
net,gem5-kernels,n1,c-0,{hostile},k,1,3000,audit,4000,0,4000,4000,4000,3000,-0.125,False
net,gem5-kernels,n1,d-0,other,k,2,4000,estimated,,,4700,4100,5300,4000,,
net,gem5-kernels,n2,e-0,another,k,1,4000,estimated,,,4700,4100,5300,4000,,
"""
TOTALS = """suite,engine,at,cycles,low,high,half_width,bound,confidence,ended,operations,measured,audited,\
audit_inside,failed,left_out,budget,spent,simulated,covered,missed,out_of_reach,unmeasured,more_runs
net,gem5-kernels,n1,21200,19000,23400,0.1038,0.05,0.95,contradicted,4,2,1,0,0,1,0.6,0.6,0.3333,0.5556,0.08,1,2,other
net,gem5-kernels,n2,4700,4100,5300,0.1277,0.2,0.95,met,1,0,0,0,2,0,0.6,0,0,0,0,0,0,
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Tables of a sample with two iterations; an operation's name holds markup."""
    written = [tmp_path / "sampled.csv", tmp_path / "sampled.totals.csv"]
    quoted = HOSTILE.replace('"', '""')
    for file, text in zip(written, (MEMBERS.replace("{hostile}", f'"{quoted}"'), TOTALS), strict=True):
        file.write_text(text)
    return written


def test_each_iteration_has_what_it_rests_on_and_its_audit(files: list[Path]) -> None:
    first, second = load_samples(files)
    assert [row["operation"] for row in first.simulated] == ["large", "small"]
    assert [row["measured"] for row in first.audit] == [4000]
    assert second.simulated == second.audit == []
    assert load_samples([]) == ()


def test_the_page_says_what_holds_what_ran_and_how_the_audit_went(files: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    frame = grid({"num_compute_units": [4]}, workloads=["operations"])
    render(SweepDescription("net"), {str(tmp_path / "operations.csv"): frame}, [], [], page, sampled=files)
    source = page.read_text()
    section = source[source.index('<section id="sample"') :].partition("</section>")[0]
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", section)).split())
    assert "net on gem5-kernels, n1" in text
    assert "21,200, 10.4 % more or less: 19,000 to 23,400 with a probability of 95.0 %" in text
    assert "5.0 % more or less: it does not hold: the audit contradicts the estimate" in text
    assert "3 of 4 distinct operations, 1 of them drawn at random" in text
    assert "33.3 % of the cycles of an iteration, 60.0 % of those of all distinct operations" in text
    assert "0 of 1 operations inside" in text
    assert "for what the audit may have missed 8.0 %" in text
    assert "2 of 4 operations are outside of what the preview was measured on" in text
    assert "1 operation costs more than the budget" in text and "Runs that the bound needs other" in text
    assert "4,000 3,500 -12.5 % no" in text
    assert "large k 3 2,400 4.5 % 2,000" in text and "small k 1 1,100 1,000" in text
    assert "1 item that no engine runs" in text
    assert "20.0 % more or less: it holds" in text and "2; estimated" in text
    assert HOSTILE not in section and " ".join(HOSTILE.split()) in text
    assert 'href="sampled.totals.csv"' in section


def test_a_sweep_without_a_sample_has_no_section(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4]}, workloads=["softmax_fwd"])
    page = tmp_path / "report.html"
    render(SweepDescription("net"), {str(tmp_path / "softmax_fwd.csv"): frame}, [], [], page)
    assert 'id="sample"' not in page.read_text() and "#sample" not in page.read_text()


def test_a_table_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="sample"):
        load_samples([tmp_path / "sampled.csv", tmp_path / "sampled.totals.csv"])
