"""`results/softmax_fwd.csv` on the host engine: sources, gem5, kernels, runs, proof, table."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import gem5_project
import pandas as pd
import pytest
from gem5_project import Gem5Project
from standins import repositories

from apuflow.core.files import write_text
from apuflow.study.score import recorded


@pytest.fixture
def gem5(new_project: Callable[[Path], Path]) -> Iterator[Gem5Project]:
    """Outside /tmp, which a program inside gem5 cannot see."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        root = new_project(Path(directory))
        yield gem5_project.make(root, Path(directory), {"container": "host"})


@pytest.fixture(scope="module")
def finished(new_project: Callable[[Path], Path]) -> Iterator[Gem5Project]:
    """The default sweep's softmax table, made once."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        project = gem5_project.make(new_project(Path(directory)), Path(directory), {"container": "host"})
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
    shutil.copy(files / "v22.1.yaml", files / "mygem5.yaml")
    gem5.sweep("fork", axes={"release": ["v22.1", "mygem5"]})
    done = gem5.run("results/fork/softmax_fwd.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    records = {record["release"]: record for record in map(json.loads, map(Path.read_text, gem5.records()))}
    ours, theirs = records["mygem5"], records["v22.1"]
    assert ours["release_facts"] == theirs["release_facts"] != {}
    assert ours["identity"] == theirs["identity"] and ours["options"] == theirs["options"]
    assert [word.replace(ours["point"], theirs["point"]) for word in ours["command"]] == theirs["command"]
    frame = pd.read_csv(gem5.root / "results/fork/softmax_fwd.csv").set_index("release")
    for counter in ("gpu_cycles", "instructions", "tcp_hits", "sqc_hits"):
        assert frame[counter]["mygem5"] == frame[counter]["v22.1"] > 0


FAILURES = {
    1: ("panic", "gem5_panic", "General-Protection"),
    2: ("exit1", "guest_failure", "exit"),
    16: ("deadlock", "deadlock", "deadlock"),
    32: ("guest_oom", "guest_out_of_memory", "Out of memory"),
    64: ("missing_kernel", "missing_kernel", "apuflow kernels"),
}


def test_a_newer_record_never_ends_the_workflow_without_its_result(
    gem5: Gem5Project,
) -> None:
    """Snakemake passes over what takes a repeated job's output as ancient, and ends well."""
    assert gem5.run("results/softmax_fwd.csv").returncode == 0
    made = sorted(gem5.root.glob("build/toolchain/v22.1/*.json"))
    assert len(made) >= 4
    for record in made:
        shutil.rmtree(gem5.root / "results")
        for run in gem5.records():
            shutil.rmtree(run.parent)
        record.write_text(record.read_text() + "\n")
        done = gem5.run("results/softmax_fwd.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        assert (gem5.root / "results/softmax_fwd.csv").exists(), record.name


def test_failed_runs_leave_evidence_and_no_row_and_a_plain_rerun_completes(gem5: Gem5Project) -> None:
    table = gem5.root / "results/one/softmax_fwd.csv"
    gem5.sweep("one", axes={"num-compute-units": [4, *FAILURES]})
    assert gem5.run("--until", "gem5", "results/one/softmax_fwd.csv").returncode == 0
    repositories.behave(
        gem5.binary, {f"num-compute-units={cus} ": what for cus, (what, _, _) in FAILURES.items()}
    )
    done = gem5.run("results/one/softmax_fwd.csv")
    assert done.returncode != 0
    assert not table.exists()
    assert len(gem5.records()) == 1
    failures = {
        record["options"]["num-compute-units"]: (record["status"], path)
        for path in (gem5.root / "runs").rglob("failure.json")
        for record in [json.loads(path.read_text())]
    }
    for cus, (_, status, text) in FAILURES.items():
        assert failures[cus][0] == status
        assert (failures[cus][1].parent / "command.sh").exists()
        assert status in done.stderr and text in done.stderr

    gem5.sweep("one", axes={"num-compute-units": [4, *FAILURES]}, on_failure="record")
    done = gem5.run("results/one/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(table).set_index("num_compute_units")
    assert frame["status"].to_dict() == {4: "completed", **{cus: f[1] for cus, f in FAILURES.items()}}
    assert frame["gpu_cycles"].isna().to_dict() == {4: False, **dict.fromkeys(FAILURES, True)}
    assert "General-Protection" in frame["evidence"][1]


def test_a_plain_rerun_repeats_only_what_failed(gem5: Gem5Project) -> None:
    gem5.sweep("one", axes={"num-compute-units": [4, 16]})
    assert gem5.run("--until", "gem5", "results/one/softmax_fwd.csv").returncode == 0
    repositories.behave(gem5.binary, {"num-compute-units=16 ": "panic"})
    assert gem5.run("results/one/softmax_fwd.csv").returncode != 0
    [kept] = gem5.records()
    before = kept.stat().st_mtime_ns
    repositories.behave(gem5.binary, {})
    done = gem5.run("results/one/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(gem5.root / "results/one/softmax_fwd.csv")) == 2
    assert kept.stat().st_mtime_ns == before


def test_a_recorded_failure_is_tried_again_when_asked_for(gem5: Gem5Project) -> None:
    def apuflow(*arguments: str) -> str:
        command = [str(gem5_project.SNAKEMAKE.with_name("apuflow")), "retry", *arguments]
        return subprocess.run(command, cwd=gem5.root, check=True, capture_output=True, text=True).stdout

    def statuses() -> dict[int, str]:
        done = gem5.run("results/one/softmax_fwd.csv")
        assert done.returncode == 0, done.stderr
        frame = pd.read_csv(gem5.root / "results/one/softmax_fwd.csv")
        return dict(zip(frame["num_compute_units"], frame["status"], strict=True))

    gem5.sweep("one", axes={"num-compute-units": [4, 16, 32]}, on_failure="record")
    assert gem5.run("--until", "gem5", "results/one/softmax_fwd.csv").returncode == 0
    failures = {"num-compute-units=16 ": "panic", "num-compute-units=32 ": "deadlock"}
    repositories.behave(gem5.binary, failures)
    failed = {4: "completed", 16: "gem5_panic", 32: "deadlock"}
    assert statuses() == failed
    repositories.behave(gem5.binary, {})
    assert statuses() == failed
    proven = {path: path.stat().st_mtime_ns for path in gem5.records() if path.parent.name.startswith("u4-")}
    assert "would be tried again" in apuflow("one", "--dry-run", "--status", "gem5_panic")
    assert statuses() == failed
    others = [gem5.root / f"results/{name}/report.html" for name in ("one", "two")]
    for page in others:
        write_text(page, "made of its tables")
    assert "1 will be tried again" in apuflow("one", "--status", "gem5_panic")
    assert [page.exists() for page in others] == [False, True]
    assert statuses() == {**failed, 16: "completed"}
    [kept] = (gem5.root / "runs/gem5/softmax_fwd").glob("u16-*/attempts/1/failure.json")
    assert json.loads(kept.read_text())["status"] == "gem5_panic"
    assert {path: path.stat().st_mtime_ns for path in proven} == proven
    apuflow()
    assert set(statuses().values()) == {"completed"}
    assert "no recorded failure" in apuflow()
