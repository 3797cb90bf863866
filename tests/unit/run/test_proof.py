"""Damaged statistics: refused with the line that shows it, or the table's row is what it would have been.

Not every damage shows: a digit that became another digit is a number like any other, and so is a row of a
statistic that nobody reads and that no other object prints. What tables read is there, once, and adds up.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from places import STATS
from statistics_damage import DAMAGES, NUMBERS, verdicts

from apuflow.core.errors import AnalysisError
from apuflow.engines.simulated import required_rows
from apuflow.run.proof import read_proof
from apuflow_analysis.counters.counters import counters

ONE = STATS / "softmax_fwd-100x1000x1x1-u1.txt.xz"
TWO = STATS / "bn_bwd-9x64x1x1-u2-bwscalor1.txt.xz"
FOUR = STATS / "relu_fwd-100x32x16x16-u4.txt.xz"
BANKS = STATS / "bn_bwd-25x128x1x1-u1-numtccs4.txt.xz"


@pytest.fixture(scope="module")
def text() -> str:
    """Statistics of a real run on two compute units."""
    return lzma.decompress(TWO.read_bytes()).decode()


def problem(directory: Path, text: str) -> str:
    file = directory / "stats.txt"
    file.write_text(text)
    return read_proof(file, required=required_rows()).problem or "none"


@pytest.mark.parametrize(
    "file", [ONE, TWO, FOUR, BANKS, STATS.parent / "dispatches/conv_fwd.txt.xz"], ids=lambda file: file.name
)
def test_recorded_statistics_are_whole(file: Path) -> None:
    assert read_proof(file, required=required_rows()).problem is None


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_refused_or_changes_no_row(kind: str) -> None:
    found = list(verdicts(12, 7, [ONE, TWO, BANKS], {kind: DAMAGES[kind]}))
    assert [one for one in found if one.what == "different row"] == []
    refused = [one for one in found if one.what == "refused"]
    assert len(refused) >= 8
    assert all(re.search(r"line \d+: '|is cut in block", one.evidence) for one in refused)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "name",
    [
        "system.cpu3.CUs1.totalCycles",
        "system.cpu3.shaderActiveTicks",
        "system.ruby.TCP_Controller.Load::total",
    ],
)
def test_a_counter_that_no_counter_can_hold(tmp_path: Path, text: str, name: str, number: str) -> None:
    row = re.search(rf"^{re.escape(name)} +\S+", text, re.M)
    assert row is not None
    broken = f"{name} {number.rjust(len(row[0]) - len(name) - 1)}"
    assert problem(tmp_path, text.replace(row[0], broken)) != "none"
    if number.strip() and " " not in number:  # also where nobody proved the file before
        with pytest.raises(AnalysisError, match="the statistics are damaged"):
            counters(tmp_path / "stats.txt")


def test_a_row_that_one_of_two_compute_units_lacks_is_named(tmp_path: Path, text: str) -> None:
    row = re.search(r"^system\.cpu3\.CUs1\.wavefronts7\.schRfAccessStalls .*\n", text, re.M)
    assert row is not None
    said = problem(tmp_path, text.replace(row[0], ""))
    assert "CUs1 lacks wavefronts7.schRfAccessStalls" in said


def test_a_name_that_comes_twice_is_named(tmp_path: Path, text: str) -> None:
    row = re.search(r"^system\.cpu3\.CUs0\.completedWfs .*\n", text, re.M)
    assert row is not None
    line = text.count("\n", 0, row.end()) + 1
    said = problem(tmp_path, text.replace(row[0], row[0] + row[0].replace(" 32 ", " 99 ")))
    assert said.startswith(f"stats.txt, line {line}: 'system.cpu3.CUs0.completedWfs ")
    assert "came before" in said


def test_buckets_add_up_to_the_samples(tmp_path: Path, text: str) -> None:
    row = re.search(r"^system\.cpu3\.CUs0\.controlFlowDivergenceDist::61-64 .*\n", text, re.M)
    assert row is not None
    assert "the buckets of system.cpu3.CUs0.controlFlowDivergenceDist" in problem(
        tmp_path, text.replace(row[0], "")
    )


def test_events_are_the_sum_of_their_states(tmp_path: Path, text: str) -> None:
    rows = re.findall(r"^system\.ruby\.TCP_Controller\.V\.Load.*\n", text, re.M)
    for row in rows:
        text = text.replace(row, "")
    assert "TCP_Controller.Load is not the sum of its states" in problem(tmp_path, text)


@pytest.mark.parametrize("array", ["tcp_cntrl1", "l1_tlb1"])
def test_an_array_without_its_last_element(tmp_path: Path, text: str, array: str) -> None:
    text = re.sub(rf"^system\.(?:ruby\.)?{array}\..*\n", "", text, flags=re.M)
    assert re.search(r"it holds [12] \w+( units)? and [12] ", problem(tmp_path, text))


def test_lost_events_of_all_controllers_are_flagged(tmp_path: Path, text: str) -> None:
    """gem5 leaves rows of 0 out, so nothing shows that they are missing; but loads went somewhere."""
    file = tmp_path / "stats.txt"
    file.write_text(re.sub(r"^system\.ruby\.TC[PC]_Controller\..*\n", "", text, flags=re.M))
    assert any("reach the TCPs" in str(broken) for broken in counters(file).broken)
