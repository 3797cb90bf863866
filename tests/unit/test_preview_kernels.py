"""The kernel models' instruction counts against real gem5 runs, where they are exact."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from apuflow.core.errors import NotModelled
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.registry import profile
from apuflow.preview.profile import block, lines_of, pages_of, span_lines
from apuflow.study.score import recorded
from apuflow.study.score_runs import row_facts

RUNS = recorded()[0]
ROWS: list[dict[str, Any]] = list(csv.DictReader(RUNS.open()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_instruction_counts_are_those_of_gem5(row: dict[str, Any]) -> None:
    counts = profile(row_facts(row)).counts
    assert counts.instructions == int(row["instructions"])
    assert counts.valu == int(row["valu_insts"])
    assert counts.salu == int(row["salu_insts"])
    assert counts.lanes == pytest.approx(int(row["valu_thread_cycles"]), rel=2e-3)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_geometry_is_that_of_the_run(row: dict[str, Any]) -> None:
    one = profile(row_facts(row))
    assert one.workgroups == int(row["workgroups"])
    assert one.wavefronts == int(row["wavefronts"])


def test_a_block_counts_what_it_says() -> None:
    total = block("v11 ld1 s2 wt1 br1", 40) * 3
    assert (total.valu, total.loads, total.salu, total.waits, total.branches) == (33, 3, 6, 3, 3)
    assert total.lanes == 33 * 40
    assert total.instructions == 48
    assert total.scalar_issues == 12


def test_a_misspelt_block_is_refused() -> None:
    with pytest.raises(ValueError, match="vv3"):
        block("vv3")


def test_lines_and_pages_of_packed_floats() -> None:
    assert (lines_of(16), lines_of(17)) == (1, 2)
    assert (pages_of(1024), pages_of(1025)) == (1, 2)


def test_lines_under_spans() -> None:
    # 256 aligned bytes are 4 lines; rows of 4000 bytes start at offset 0 or 32: 4 or 5 lines.
    assert span_lines(256, 256) == 4
    assert span_lines(256, 4000) == 4.5
    assert span_lines(4, 4) == 1


def test_an_unknown_kernel_is_refused_by_name() -> None:
    with pytest.raises(NotModelled, match="Winograd"):
        profile(Facts("Winograd", (64, 1, 1), (64, 1, 1), ""))
