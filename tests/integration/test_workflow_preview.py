"""The workflow as a user runs it, on the preview engine, in a fresh copy of the project."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

SNAKEMAKE = Path(sys.executable).with_name("snakemake")
SOFTMAX = "results/quickstart/softmax_fwd.csv"
SMALL = "results/small/softmax_fwd.csv"


def run(project: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SNAKEMAKE), "--cores", "2", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, new_project: Callable[[Path], Path]) -> Path:
    """A project in which the table and one figure of a sweep were made, which is the quickstart's softmax."""
    project = new_project(tmp_path_factory.mktemp("finished"))
    sweep = yaml.safe_load((project / "configs/sweeps/quickstart.yaml").read_text())
    (project / "configs/sweeps/small.yaml").write_text(json.dumps({**sweep, "workloads": ["softmax_fwd"]}))
    done = run(project, SMALL, "results/small/figures/speedup.svg")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def test_table_has_a_row_per_compute_unit_count_and_names_its_engine(finished: Path) -> None:
    frame = pd.read_csv(finished / SMALL)
    assert frame["num_compute_units"].tolist() == [1, 2, 4, 8, 16, 32, 64]
    assert set(frame["engine"]) == {"preview"}
    assert set(frame["status"]) == {"completed"}
    # MIOpen's NUM_BATCH=1: a workgroup of 256 work-items, four wavefronts, for each of the 100 rows
    assert set(frame["workgroups"]) == {100}
    assert set(frame["wavefronts"]) == {400}
    # Until memory is the bound more compute units are faster; 4 of them take 198,147 cycles on gem5.
    assert frame["gpu_cycles"].head(4).is_monotonic_decreasing
    assert frame["gpu_cycles"][2] == pytest.approx(198_147, rel=0.25)


def test_csv_and_parquet_hold_the_same_and_columns_are_described(finished: Path) -> None:
    frame = pd.read_csv(finished / SMALL)
    parquet = pd.read_parquet(finished / SMALL.replace(".csv", ".parquet"))
    assert list(frame.columns) == list(parquet.columns)
    described = json.loads((finished / SMALL.replace(".csv", ".columns.json")).read_text())
    assert [column["name"] for column in described["columns"]] == list(frame.columns)
    units = {column["name"]: column.get("unit") for column in described["columns"]}
    assert units["gpu_cycles"] == "cycle" and units["gpu_time"] == "s"


def test_figure_stands_beside_its_numbers(finished: Path) -> None:
    stem = finished / "results/small/figures/speedup"
    assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "preview" in stem.with_suffix(".svg").read_text()
    assert not pd.read_csv(stem.with_suffix(".csv")).empty


def test_a_second_call_has_nothing_to_do(finished: Path) -> None:
    done = run(finished, SMALL)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr


def test_touching_code_or_cloning_again_repeats_nothing(finished: Path) -> None:
    for file in (finished / "workflow").rglob("*.py"):
        file.touch()
    assert "Nothing to be done" in (done := run(finished, SMALL)).stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("results/quickstart/softmx_fwd.csv", ["no workload of this name", "softmax_fwd"]),
        ("results/../softmax_fwd.csv", ["no result has this name", "did you mean results/softmax_fwd.csv?"]),
    ],
)
def test_an_unknown_target_is_refused_with_what_is_known(
    project: Path, target: str, expected: list[str]
) -> None:
    done = run(project, target)
    assert done.returncode != 0
    for text in expected:
        assert text in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "results").exists()


def test_a_mistake_in_a_sweep_stops_before_anything_runs(project: Path) -> None:
    sweep = project / "configs/sweeps/quickstart.yaml"
    sweep.write_text(sweep.read_text() + "\noptions: {num-tccs: 3}\n")
    done = run(project, "results/quickstart/report.html")
    assert done.returncode != 0
    assert "num-tccs" in done.stderr and "quickstart.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "runs").exists()


def test_a_killed_workflow_is_finished_by_a_plain_rerun(project: Path) -> None:
    process = subprocess.Popen(
        [str(SNAKEMAKE), "--cores", "1", "--nolock", SOFTMAX, "results/quickstart/pool_fwd.csv"],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (project / "runs").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = run(project, SOFTMAX, "results/quickstart/pool_fwd.csv")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(project / SOFTMAX)) == 7


def test_results_that_cannot_be_written_end_in_an_error_not_in_half_a_table(project: Path) -> None:
    (project / "results").write_text("a file stands where the directory should be")
    done = run(project, SOFTMAX)
    assert done.returncode != 0
    assert (project / "results").read_text() == "a file stands where the directory should be"


def test_a_network_is_folded_from_its_operations(tmp_path: Path, new_project: Callable[[Path], Path]) -> None:
    project = new_project(tmp_path)
    (project / "configs/sweeps/nets.yaml").write_text(
        "description: a test\nengines: [preview]\nsuites: [alexnet_owt]\nlayer: {n: 2}\n"
    )
    below = "results/nets"
    done = run(project, f"{below}/report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    items = pd.read_csv(project / below / "items/alexnet_owt.csv")
    [table] = pd.read_csv(project / below / "alexnet_owt.csv").to_dict("records")
    [summary] = pd.read_csv(project / below / "items/alexnet_owt.summary.csv").to_dict("records")
    assert table["status"] == "completed"
    assert table["gpu_time"] * 1e3 == pytest.approx(items["total_ms"].sum())
    assert summary["forward_ms"] + summary["backward_ms"] + summary["update_ms"] == pytest.approx(
        summary["total_ms"]
    )
    assert summary["images_per_s"] == pytest.approx(2 / table["gpu_time"])
    # three passes of two images, two operations per multiply-add; the images themselves have no gradient
    macs, first = 714_188_480, 70_276_800
    assert summary["flop"] == 2 * 2 * (3 * macs - first)
    links = re.findall(r'href="((?:items|figures)/[^"]+)"', (project / below / "report.html").read_text())
    assert {"items/alexnet_owt.csv", "figures/layers.png"} <= set(links)
    assert all((project / below / link).is_file() for link in links)
