"""Comparing tables and engines."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from result_frames import table
from typer.testing import CliRunner

from analysis.tables import tables
from analysis.tables.compare import compare, compare_engines
from apuflow.cli import build_app
from apuflow.core.errors import AnalysisError


def _table(engine: str, cycles: dict[int, float], **changes: float | str) -> pd.DataFrame:
    rows = [
        {
            "engine": engine,
            "workload": "w",
            "direction": "fwd",
            "point": f"{engine}-{units}",
            "num_compute_units": units,
            "gpu_cycles": value,
            "instructions": 100,
            "cu_cycles": value,
            "status": "completed",
            "release": "v23.0",
            **changes,
        }
        for units, value in cycles.items()
    ]
    return table(rows, ["num_compute_units"])


def test_ratio_and_difference_per_point() -> None:
    result = compare(
        _table("gem5", {1: 100, 2: 50, 4: 20}), _table("preview", {1: 110, 2: 40, 8: 5}), ["gpu_cycles"]
    )
    assert list(result.table["num_compute_units"]) == [1, 2]
    assert list(result.table["ratio"]) == [1.1, 0.8]
    assert list(result.table["difference"]) == [10, -10]
    assert (result.only_a, result.only_b) == (1, 1)
    summary = result.summary.iloc[0]
    assert summary["points"] == 2
    assert summary["geometric_mean_ratio"] == pytest.approx(math.sqrt(1.1 * 0.8))
    assert (summary["smallest_ratio"], summary["largest_ratio"], summary["largest_difference"]) == (
        0.8,
        1.1,
        10,
    )


def test_zero_and_unknown() -> None:
    a, b = _table("gem5", {1: 0, 2: 0, 4: 10}), _table("gem5", {1: 0, 2: 5, 4: 10})
    table = compare(a, b, ["gpu_cycles", "occupancy"]).table
    ratios = table[table["column"] == "gpu_cycles"]["ratio"].tolist()
    assert ratios[0] == 1 and math.isnan(ratios[1]) and ratios[2] == 1
    assert table[table["column"] == "occupancy"]["ratio"].isna().all()


def test_two_engines_of_one_table() -> None:
    both = pd.concat([_table("gem5", {1: 100, 2: 60}), _table("preview", {1: 50, 2: 60})], ignore_index=True)
    result = compare_engines(both, "gem5", "preview", ["gpu_cycles"])
    assert list(result.table["ratio"]) == [0.5, 1]
    with pytest.raises(AnalysisError, match="no row of this engine") as caught:
        compare_engines(both, "gem5", "gem5-kernels")
    assert "gem5, preview" in str(caught.value)


def test_a_machine_parameter_that_varies_is_a_key() -> None:
    a = pd.concat(
        [_table("gem5", {1: 100}, num_tccs=1), _table("gem5", {1: 80}, num_tccs=2)], ignore_index=True
    )
    result = compare(a, a, ["gpu_cycles"])
    assert "num_tccs" in result.keys
    assert list(result.table["ratio"]) == [1, 1]


def test_what_cannot_be_compared() -> None:
    a = _table("gem5", {1: 100})
    with pytest.raises(AnalysisError, match="no completed point in common"):
        compare(a, _table("gem5", {2: 100}))
    with pytest.raises(AnalysisError, match="no such counter or metric"):
        compare(a, a, ["colour"])
    with pytest.raises(AnalysisError, match="several rows of one point"):
        compare(pd.concat([a, _table("preview", {1: 90})], ignore_index=True), a)


def test_command(tmp_path: Path) -> None:
    tables.write(_table("gem5", {1: 100, 2: 50}), csv=tmp_path / "a.csv")
    tables.write(_table("preview", {1: 110, 2: 40}), parquet=tmp_path / "b.parquet")
    arguments = [
        "compare",
        str(tmp_path / "a.csv"),
        str(tmp_path / "b.parquet"),
        "-c",
        "gpu_cycles",
        "--points",
    ]
    done = CliRunner().invoke(build_app(), [*arguments, "--csv", str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    assert "1.1" in done.output and "0.8" in done.output
    written = pd.read_csv(tmp_path / "out.csv")
    assert list(written["ratio"]) == [1.1, 0.8]
    assert list(written["num_compute_units"]) == [1, 2]


@pytest.mark.parametrize(
    "arguments", [["a.csv"], ["a.csv", "b.csv", "--engines", "x,y"], ["a.csv", "--engines", "x"]]
)
def test_command_refuses_with_a_remedy(arguments: list[str]) -> None:
    done = CliRunner().invoke(build_app(), ["compare", *arguments])
    assert done.exit_code != 0
    assert "fix:" in str(done.exception)
