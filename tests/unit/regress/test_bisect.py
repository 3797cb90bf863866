"""The search for a commit, with a real git repository whose builds are recorded runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from places import ROOT
from regress_runs import RUN, recorded_run, slow_loads
from typer.testing import CliRunner, Result

from apuflow.cli import build_app

BUILD = "test ! -e broken && mkdir -p out && cp -r runs out/"


def git(directory: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    command = ["git", *who, "-C", str(directory), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit(source: Path, message: str) -> str:
    (source / "note").write_text(message)
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", message)
    return git(source, "rev-parse", "HEAD")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Commits: as it was, one that does not build, one that does, slower loads, one that changes nothing."""
    source = tmp_path / "gem5"
    recorded_run(source / RUN)
    git(source, "init", "--quiet")
    commit(source, "first")
    git(source, "tag", "good")
    (source / "broken").touch()
    commit(source, "does not build")
    (source / "broken").unlink()
    commit(source, "builds again")
    slow_loads(source / RUN)
    commit(source, "mem-ruby: slower loads")
    git(source, "tag", "culprit")
    commit(source, "docs")
    git(source, "tag", "bad")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    return source


def bisect(source: Path, ends: str, *more: str) -> Result:
    options = ["--source", str(source), "--build", BUILD, "--product", "out", *more]
    return CliRunner().invoke(build_app(), ["regress", "--bisect", ends, *options])


def test_the_commit_that_changed_a_counter_is_found(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (source / "note").write_text("work in progress")
    result = bisect(source, "good..bad", "--release", "v23.0", "--json")
    assert result.exit_code == 1, result.output + str(result.exception)
    rows = json.loads(result.stdout[result.stdout.index("[\n") :])
    (told,) = (row for row in rows if row["kind"] == "counter")
    assert git(source, "rev-parse", "culprit") in told["note"] and "slower loads" in told["note"]
    assert told["name"] == "load_latency_ticks"
    assert (source / "note").read_text() == "work in progress"
    assert git(source, "branch", "--show-current") == "main"
    assert len(git(source, "worktree", "list").splitlines()) == 1


def test_ends_that_do_not_tell_are_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for ends, said in (
        ("good..good", "both ends give equal results"),
        ("bad..good", "GOOD is no ancestor of BAD"),
        ("good..nowhere", "no such commit"),
    ):
        assert said in str(bisect(source, ends, "--release", "v23.0").exception)
        assert len(git(source, "worktree", "list").splitlines()) == 1
