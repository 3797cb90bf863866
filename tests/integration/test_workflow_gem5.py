"""`results/softmax_fwd.csv` on the host engine: sources, gem5, kernels, runs, proof, table."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from gem5_project import RELEASE, Gem5Project

from apuflow.score.errors import recorded


@pytest.fixture(scope="module")
def finished(made: Gem5Project) -> Iterator[Gem5Project]:
    """The default sweep's softmax table, made once."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        project = made.copy(Path(directory) / "project")
        done = project.run("results/softmax_fwd.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        yield project


def test_the_table_holds_what_the_statistics_say(finished: Gem5Project) -> None:
    frame = pd.read_csv(finished.root / "results/softmax_fwd.csv")
    assert frame["num_compute_units"].tolist() == [4, 8, 16]
    assert set(frame["engine"]) == {"gem5"} and set(frame["status"]) == {"completed"}
    alone = pd.read_csv(recorded()[0]).set_index("id")
    row = frame.set_index("num_compute_units").loc[4]
    expected = alone.loc["softmax_fwd-100x1000x1x1-u4"]
    for column in ("gpu_active_ticks", "instructions", "valu_insts", "workgroups", "wavefronts"):
        assert row[column] == expected[column]


def test_a_record_says_what_ran_from_which_sources(finished: Gem5Project) -> None:
    records = [json.loads(path.read_text()) for path in finished.records()]
    assert len(records) == 3
    for record in records:
        assert record["status"] == "completed" and record["exit_code"] == 0
        assert record["provenance"]["gem5_commit"] == finished.gem5.commit
        assert len(record["provenance"]["gem5_binary_sha256"]) == 64
        assert len(record["provenance"]["kernel_db_sha256"]) == 64
        assert "--reg-alloc-policy=dynamic" in record["command"]
        assert "SoftmaxForward" in {launch["kernel"] for launch in record["launches"]}


def test_each_compute_unit_count_has_its_database(finished: Gem5Project) -> None:
    databases = sorted((finished.root / "cachefiles").rglob("*.ukdb"))
    assert {path.name for path in databases} == {"gfx801_4.ukdb", "gfx801_8.ukdb", "gfx801_16.ukdb"}
    with sqlite3.connect(databases[0]) as connection:
        [(name, arguments)] = connection.execute("SELECT kernel_name, kernel_args FROM kern_db").fetchall()
    assert name == "MIOpenSoftmax.cl.o"
    assert arguments.endswith("-DRUN_FORWARD=1 -DIS_INPUT_PACKED=1 -DIS_OUTPUT_PACKED=1 -mcpu=gfx801")


def test_nothing_runs_again_after_a_new_clone_of_the_toolchain(finished: Gem5Project) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.records()}
    shutil.rmtree(finished.root / "build")
    for file in (finished.root / "workflow").rglob("*.py"):
        file.touch()
    (finished.root / "results/softmax_fwd.csv").unlink()
    done = finished.run("results/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in finished.records()} == before


def test_a_copied_release_runs_and_is_read_as_the_original(gem5: Gem5Project) -> None:
    """As the release files invite: a copy of one under another name describes a fork."""
    files = gem5.root / "configs/gem5"
    shutil.copy(files / f"{RELEASE}.yaml", files / "mygem5.yaml")
    shutil.rmtree(gem5.root / "runs")
    gem5.sweep("fork", axes={"release": [RELEASE, "mygem5"]})
    done = gem5.run("results/fork/softmax_fwd.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    records = {record["release"]: record for record in map(json.loads, map(Path.read_text, gem5.records()))}
    ours, theirs = records["mygem5"], records[RELEASE]
    assert ours["release_facts"] == theirs["release_facts"] != {}
    assert ours["identity"] == theirs["identity"] and ours["options"] == theirs["options"]
    assert [word.replace(ours["point"], theirs["point"]) for word in ours["command"]] == theirs["command"]
    frame = pd.read_csv(gem5.root / "results/fork/softmax_fwd.csv").set_index("release")
    for counter in ("gpu_cycles", "instructions", "tcp_hits", "sqc_hits"):
        assert frame[counter]["mygem5"] == frame[counter][RELEASE] > 0
