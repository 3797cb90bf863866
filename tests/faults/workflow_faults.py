"""What the tests of the whole workflow share: a Snakemake to disturb, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from gem5_project import SNAKEMAKE, Gem5Project
from standins import repositories

TABLE = "results/two/softmax_fwd.csv"


class Workflow:
    """A Snakemake that runs while a test does something to it."""

    def __init__(self, project: Gem5Project, *arguments: str) -> None:
        self.project = project
        self.process = subprocess.Popen(
            [str(SNAKEMAKE), "--cores", "2", *arguments],
            cwd=project.root,
            env=repositories.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until_running(self, units: int) -> int:
        """Wait until gem5 simulates this many compute units; returns its process."""
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            for pid, command in processes(self.project):
                if "gem5.opt" in command and f"--num-compute-units={units} " in command:
                    simerr = self.project.root / "runs/gem5/softmax_fwd"
                    if any(
                        "event queue" in file.read_text() for file in simerr.glob(f"*_u{units}-*/**/simerr")
                    ):
                        return pid
            if self.process.poll() is not None:
                raise AssertionError(f"the workflow ended before gem5 ran:\n{self.end()[1]}")
            time.sleep(0.05)
        raise AssertionError("gem5 did not start")

    def job(self) -> int:
        """The process of the rule's script."""
        return next(pid for pid, command in processes(self.project) if ".snakemake/scripts/" in command)

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=600)
        return self.process.returncode, errors


def processes(project: Gem5Project) -> Iterator[tuple[int, str]]:
    """Processes whose command line names the project."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"{project.root}/" in command and int(entry.name) != os.getpid():
                yield int(entry.name), command


def stamp(project: Gem5Project) -> tuple[int, int]:
    """Tells whether the finished run was touched: time and inode of its statistics, number of tries."""
    [directory] = (project.root / "runs/gem5/softmax_fwd").glob("*_u4-*")
    return (directory / "stats.txt").stat().st_mtime_ns, len(list((directory / "attempts").iterdir()))


def completes(project: Gem5Project, before: tuple[int, int], *units: int) -> str:
    """A plain rerun makes the table and leaves the finished run alone; returns what it said."""
    repositories.behave(project.binary, {})
    done = project.run(TABLE)
    assert done.returncode == 0, done.stdout + done.stderr
    frame = pd.read_csv(project.root / TABLE)
    assert frame["num_compute_units"].tolist() == list(units or (4, 8))
    assert set(frame["status"]) == {"completed"}
    assert stamp(project) == before
    assert not list(processes(project))
    return done.stderr


def no_row(project: Gem5Project) -> None:
    assert not (project.root / TABLE).exists()
    assert len(project.records()) == 1


def failure(project: Gem5Project) -> dict[str, str]:
    """The last failed try of the point with 8 CUs."""
    found = sorted((project.root / "runs").glob("gem5/softmax_fwd/*_u8-*/attempts/*/failure.json"))
    return dict(json.loads(found[-1].read_text()))
