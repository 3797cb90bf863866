"""``apuflow compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from result_frames import engine_table
from run_records import run_record
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow_analysis.tables import store

ENGINES = ("gem5", "gem5-kernels")


def test_command(tmp_path: Path) -> None:
    store.write(engine_table("gem5", {1: 100, 2: 50}), csv=tmp_path / "a.csv")
    store.write(engine_table("preview", {1: 110, 2: 40}), parquet=tmp_path / "b.parquet")
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


def test_an_axis_names_its_sides(tmp_path: Path) -> None:
    store.write(engine_table("gem5", {4: 100, 16: 25}), csv=tmp_path / "a.csv")
    asked = ["compare", str(tmp_path / "a.csv"), "--axis", "num-compute-units=4,16", "-c", "gpu_cycles"]
    done = CliRunner().invoke(build_app(), asked)
    assert done.exit_code == 0, done.output
    assert "A: num-compute-units=4" in done.output and "differ: num_compute_units (4, 16)" in done.output
    assert "0.25" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.csv"],
        ["a.csv", "b.csv", "--engines", "x,y"],
        ["a.csv", "--engines", "x"],
        ["a.csv", "--axis", "4,16"],
        ["a.csv", "--engines", "x,y", "--axis", "u=1,2"],
        ["a", "--figure", "f"],
        ["--kernels", "."],
    ],
)
def test_command_refuses_with_a_remedy(arguments: list[str]) -> None:
    done = CliRunner().invoke(build_app(), ["compare", *arguments])
    assert done.exit_code != 0
    assert "fix:" in str(done.exception)


def test_kernels_of_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From run directories and from the table that both stand in; figures and numbers are written."""
    monkeypatch.chdir(tmp_path)
    size = {"grid": [256, 1, 1], "workgroup": [64, 1, 1]}
    for engine, ends in (("gem5", 101_000), ("gem5-kernels", 91_000)):
        directory = tmp_path / f"runs/{engine}/softmax_fwd/p"
        directory.mkdir(parents=True)
        traced = {"name": "Some kernel", "arguments": 0, "submitted": 0, "launched": 1000, "completed": ends}
        record = run_record(
            engine=engine, launches=[{"kernel": "K", **size}], dispatches=[{**traced, **size}]
        )
        (directory / "run.json").write_text(json.dumps(record))
    runs = ["runs/gem5/softmax_fwd/p", "runs/gem5-kernels/softmax_fwd/p"]
    written = ["--csv", "k.csv", "--figure", "k.svg"]
    done = CliRunner().invoke(build_app(), ["compare", "--kernels", *runs, *written])
    assert done.exit_code == 0, done.output
    assert "0.9000" in done.output and "kernels of the layers" in done.output
    table = pd.read_csv("k.csv")
    assert list(table["cycles_b"]) == [90] and list(table["run_a"]) == runs[:1]
    assert {"k.svg", "k.png", "k.csv", "k-time.svg"} <= {path.name for path in tmp_path.iterdir()}
    frames = [engine_table(engine, {4: 100}).assign(workload="softmax_fwd", point="p") for engine in ENGINES]
    store.write(pd.concat(frames, ignore_index=True), csv=tmp_path / "t.csv")
    done = CliRunner().invoke(build_app(), ["compare", "--kernels", "t.csv"])
    assert done.exit_code == 0 and "0.9000" in done.output, done.output
