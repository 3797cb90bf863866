"""``apuflow compare``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from result_frames import engine_table
from typer.testing import CliRunner

from analysis.tables import tables
from apuflow.cli import build_app


def test_command(tmp_path: Path) -> None:
    tables.write(engine_table("gem5", {1: 100, 2: 50}), csv=tmp_path / "a.csv")
    tables.write(engine_table("preview", {1: 110, 2: 40}), parquet=tmp_path / "b.parquet")
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
