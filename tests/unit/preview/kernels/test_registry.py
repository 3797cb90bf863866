"""The kernel models' instruction counts against real gem5 runs: formulas are exact, interpolation is near."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from apuflow.core.errors import NotModelled
from apuflow.preview.kernels.facts import Facts, facts_of
from apuflow.preview.kernels.registry import formula, profile
from apuflow.score.errors import recorded
from apuflow.score.runs import row_launch

RUNS = recorded()[0]


ROWS: list[dict[str, Any]] = list(csv.DictReader(RUNS.open()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_instruction_counts_are_those_of_gem5(row: dict[str, Any]) -> None:
    facts = facts_of(row_launch(row), vega=False)
    counts, near = profile(facts).counts, 0.0 if formula(facts.kernel) else 0.15
    assert counts.instructions == pytest.approx(int(row["instructions"]), rel=near)
    assert counts.valu == pytest.approx(int(row["valu_insts"]), rel=near)
    assert counts.salu == pytest.approx(int(row["salu_insts"]), rel=near)
    assert counts.lanes == pytest.approx(int(row["valu_thread_cycles"]), rel=max(near, 2e-3))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_geometry_is_that_of_the_run(row: dict[str, Any]) -> None:
    one = profile(facts_of(row_launch(row), vega=False))
    assert one.workgroups == int(row["workgroups"])
    assert one.wavefronts == int(row["wavefronts"])


def test_an_unknown_kernel_is_refused_by_name() -> None:
    with pytest.raises(NotModelled, match="Winograd"):
        profile(Facts("Winograd", (64, 1, 1), (64, 1, 1), ""))
