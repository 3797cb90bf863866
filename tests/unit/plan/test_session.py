"""What a call of snakemake ends with when its targets are not there, on Snakemake's own settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.settings.types import Batch, DAGSettings, StorageSettings

from apuflow.plan.session import Session

SHARED = {"storage_settings": StorageSettings()}
TARGETS = {"results/a/softmax_fwd.csv", "results/a/report.html", "all", "notes.txt"}


def session(root: Path, **changed: Any) -> Session:
    """A session as one of Snakemake's job processes has it: that repairs nothing and registers nowhere."""
    settings = DAGSettings(targets=TARGETS, **changed)
    return Session(SimpleNamespace(is_main_process=False, dag_settings=settings, **SHARED), root)


def test_a_named_result_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results/a").mkdir(parents=True)
    (tmp_path / "results/a/report.html").touch()
    with pytest.raises(SystemExit) as ended:
        session(tmp_path).end()
    assert ended.value.code == 2
    assert "results/a/softmax_fwd.csv" in capsys.readouterr().err
    (tmp_path / "results/a/softmax_fwd.csv").touch()
    session(tmp_path).end()


@pytest.mark.parametrize(
    "part", [{"until": {"simulate"}}, {"omit_from": {"table"}}, {"batch": Batch("table", 1, 2)}]
)
def test_who_asks_for_a_part_of_the_work_misses_nothing(tmp_path: Path, part: dict[str, Any]) -> None:
    session(tmp_path, **part).end()


LOOKS = """\
from apuflow.plan import workarounds

looks = []
schedule = JobScheduler._schedule_reevalutation
JobScheduler._schedule_reevalutation = lambda self, delay: (looks.append(delay), schedule(self, 0.01))


onstart:
    if LIFTED:
        workarounds.lift_rate_limit(workflow.scheduler)


onsuccess:
    print("looks", len(looks))


rule all:
    input: expand("{number}.txt", number=range(3))


rule one:
    output: "{number}.txt"
    shell: "sleep 0.5; touch {output}"
"""
"""Three jobs on one core. Snakemake orders each further look at the waiting jobs by this method."""


@pytest.mark.parametrize("lifted", [False, True])
def test_snakemake_looks_at_waiting_jobs_again_and_again_unless_the_rate_limit_is_lifted(
    tmp_path: Path, lifted: bool
) -> None:
    (tmp_path / "Snakefile").write_text(LOOKS.replace("LIFTED", str(lifted)))
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    looks = int(done.stdout.split()[-1])
    assert looks == 0 if lifted else looks > 3 * 3  # jobs that ended


@pytest.mark.parametrize("place", ["", ".snakemake", ".snakemake/locks"])
def test_a_tree_of_another_user_is_told_in_words(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write anywhere, so what the system says of a place is given."""
    if place:
        (tmp_path / ".snakemake/locks").mkdir(parents=True)
    allowed = os.access
    refused = tmp_path / place
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != refused and allowed(path, mode))
    with pytest.raises(SystemExit) as ended:
        Session(SimpleNamespace(is_main_process=True, **SHARED), tmp_path)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "cannot write here" in said and str(refused) in said and "Traceback" not in said
