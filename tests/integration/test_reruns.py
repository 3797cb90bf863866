"""Failed, recorded and repeated runs on the host engine: what a rerun makes again, and what it keeps."""

from __future__ import annotations

import json
import shutil
import subprocess

import gem5_project
import pandas as pd
from gem5_project import RELEASE, Gem5Project
from standins import repositories

from apuflow.core.files import write_text

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
    made = sorted(gem5.root.glob(f"build/toolchain/{RELEASE}/*.json"))
    assert len(made) >= 4
    for record in made:
        shutil.rmtree(gem5.root / "results")
        for run in gem5.records():
            shutil.rmtree(run.parent)
        record.write_text(record.read_text() + "\n")
        done = gem5.run("results/one/softmax_fwd.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        assert (gem5.root / "results/one/softmax_fwd.csv").exists(), record.name


def test_failed_runs_leave_evidence_and_no_row_and_repeat_no_other(gem5: Gem5Project) -> None:
    table = gem5.root / "results/one/softmax_fwd.csv"
    table.unlink()
    [kept] = gem5.records()
    before = kept.stat().st_mtime_ns
    gem5.sweep("one", axes={"num-compute-units": [4, *FAILURES]})
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
    failures = {"num-compute-units=16 ": "panic", "num-compute-units=32 ": "deadlock"}
    repositories.behave(gem5.binary, failures)
    failed = {4: "completed", 16: "gem5_panic", 32: "deadlock"}
    assert statuses() == failed
    repositories.behave(gem5.binary, {})
    assert statuses() == failed
    proven = {
        path: path.stat().st_mtime_ns for path in gem5.records() if path.parent.name.startswith("v23.0_u4-")
    }
    recorded = sorted((gem5.root / "runs").rglob("*.json"))
    assert "would be tried again" in apuflow("one", "--dry-run", "--status", "gem5_panic")
    assert sorted((gem5.root / "runs").rglob("*.json")) == recorded
    others = [gem5.root / f"results/{name}/report.html" for name in ("one", "two")]
    for page in others:
        write_text(page, "made of its tables")
    assert "1 will be tried again" in apuflow("one", "--status", "gem5_panic")
    assert [page.exists() for page in others] == [False, True]
    assert statuses() == {**failed, 16: "completed"}
    [kept] = (gem5.root / "runs/gem5/softmax_fwd").glob("*_u16-*/attempts/1/failure.json")
    assert json.loads(kept.read_text())["status"] == "gem5_panic"
    assert {path: path.stat().st_mtime_ns for path in proven} == proven
    apuflow()
    assert set(statuses().values()) == {"completed"}
    assert "no recorded failure" in apuflow()
