"""The whole workflow, its files changed, swapped, removed, aged or without room: nothing false in a table."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import yaml
from gem5_project import Gem5Project
from workflow_faults import TABLE, completes, no_row, stamp


def test_a_gem5_that_changed_under_its_record_runs_nothing(two: Gem5Project) -> None:
    before = stamp(two)
    with two.binary.open("a") as stream:
        stream.write("# another build\n")
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "this gem5 is not the recorded program" in done.stderr
    no_row(two)
    two.binary.unlink()
    two.gem5_record.unlink()
    completes(two, before)


def test_what_is_deleted_by_hand_comes_back_without_a_run_where_the_proof_is_left(two: Gem5Project) -> None:
    assert two.run(TABLE).returncode == 0
    before = stamp(two)
    four, eight = two.records()
    assert four.parent.name.startswith("v23.0_u4-")
    (two.root / TABLE).unlink()
    four.unlink()
    shutil.rmtree(eight.parent)
    shutil.rmtree(two.root / "logs")
    completes(two, before)


def test_results_of_another_run_reach_no_table(two: Gem5Project) -> None:
    before = stamp(two)
    two.sweep("two", axes={"num-compute-units": [4, 16]})
    assert two.run(TABLE).returncode == 0
    [four] = (two.root / "runs/gem5/softmax_fwd").glob("*_u4-*")
    [other] = (two.root / "runs/gem5/softmax_fwd").glob("*_u16-*")
    own = (other / "stats.txt").read_bytes()
    for swap, said in (("stats.txt", "proven with"), ("run.json", "two records")):
        (two.root / TABLE).unlink(missing_ok=True)
        (other / swap).unlink()
        shutil.copy(four / swap, other / swap)
        done = two.run(TABLE)
        assert done.returncode != 0
        assert not (two.root / TABLE).exists()
        assert said in done.stderr or "proven with" in done.stderr, done.stderr
        (other / "stats.txt").write_bytes(own)
    (other / "run.json").unlink()
    completes(two, before, 4, 16)


def test_a_clock_that_jumped_back_a_day_neither_stops_nor_repeats_runs(two: Gem5Project) -> None:
    """All files are from tomorrow then."""
    tomorrow = time.time() + 86_400
    for path in two.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (tomorrow, tomorrow))
    before = stamp(two)
    completes(two, before)


def test_coarse_time_stamps_repeat_nothing(two: Gem5Project) -> None:
    """Two seconds, as on file systems of old: inputs and outputs then often have the same time."""
    done = two.run(TABLE)
    assert done.returncode == 0, done.stdout + done.stderr
    for path in two.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            seconds = path.stat().st_mtime // 2 * 2
            os.utime(path, (seconds, seconds))
    done = two.run(TABLE)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr


def test_a_read_only_project_is_said_without_a_traceback(
    two: Gem5Project, mounted: Callable[..., Path]
) -> None:
    place = mounted(two.root, "ro", two.root)
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "Read-only file system" in done.stdout + done.stderr
    subprocess.run(["umount", "-l", str(place)], check=True)
    no_row(two)


def test_a_full_disk_stops_the_workflow_and_room_completes_it(
    two: Gem5Project, mounted: Callable[..., Path]
) -> None:
    before = stamp(two)
    place = mounted(two.root / "results", "size=64k")
    for name in ("one", "two"):
        (place / name).mkdir()
    (place / "ballast").write_bytes(b"x" * 50_000)
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "No space left" in done.stderr and "Traceback" not in done.stderr
    assert not (two.root / TABLE).exists()
    subprocess.run(["umount", str(place)], check=True)
    completes(two, before)


def test_a_site_with_an_own_gem5_may_replace_it(copies: Callable[[], Gem5Project]) -> None:
    """Its hash is part of the points' names: the new program makes new runs, under its own hash."""
    project = copies()
    site = project.root / "configs/site.yaml"
    content = yaml.safe_load(site.read_text())
    binary = project.root / "own gem5/build/GCN3_X86/gem5.opt"
    checkout = project.root / "own gem5"
    shutil.copytree(project.binary.parents[2], checkout)
    content["gem5"] = {"binary": str(binary), "source": str(checkout)}
    site.write_text(yaml.safe_dump(content))
    hashes = []
    for _ in range(2):
        done = project.run("results/one/softmax_fwd.csv")
        assert done.returncode == 0, done.stderr
        hashes.append(
            pd.read_csv(project.root / "results/one/softmax_fwd.csv")["gem5_binary_sha256"].tolist()
        )
        with binary.open("a") as stream:
            stream.write("# another build\n")
    assert len(project.records()) == 3  # the one of before, built here, and one for each of the two
    assert hashes[0] != hashes[1] and len(hashes[1]) == 1
