"""Sources: clones that are whole or not there, checkouts that are what they are said to be."""

from __future__ import annotations

import concurrent.futures
import subprocess
from pathlib import Path

import pytest
from standins.repositories import Repository, commit, git

from apuflow.core.errors import EngineError
from apuflow.prepare.records import read_record, write_record
from apuflow.prepare.sources import SourceRecord, fetch_source, use_checkout


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    """Two commits; the first one is pinned, so the branch has moved on."""
    path = tmp_path / "up stream's"
    path.mkdir()
    (path / "file").write_text("one")
    first = commit(path)
    (path / "file").write_text("two")
    git(path, "commit", "-qam", "moved on")
    return Repository(path, first)


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_clone_is_exactly_the_pinned_commit(upstream: Repository, tmp_path: Path, form: str) -> None:
    target = tmp_path / "src" / "gem5"
    record = fetch_source(form.format(upstream.path), upstream.commit, target)
    assert record == SourceRecord(path=str(target), commit=upstream.commit)
    assert (target / "file").read_text() == "one"
    assert sorted(path.name for path in target.parent.iterdir()) == [".gem5.lock", "gem5"]


def test_jobs_that_fetch_the_same_commit_at_the_same_time_all_have_it(
    upstream: Repository, tmp_path: Path
) -> None:
    """As two releases with one commit do."""
    target = tmp_path / "src" / "gem5"
    with concurrent.futures.ProcessPoolExecutor(6) as pool:
        jobs = [pool.submit(fetch_source, str(upstream.path), upstream.commit, target) for _ in range(24)]
    assert {job.result() for job in jobs} == {SourceRecord(path=str(target), commit=upstream.commit)}


def test_an_existing_clone_is_kept_and_a_changed_one_refused(upstream: Repository, tmp_path: Path) -> None:
    target = tmp_path / "gem5"
    fetch_source(str(upstream.path), upstream.commit, target)
    before = (target / "file").stat().st_mtime_ns
    fetch_source("https://nowhere.invalid/x.git", upstream.commit, target)
    assert (target / "file").stat().st_mtime_ns == before
    with pytest.raises(EngineError, match=f"the checkout is at {upstream.commit}"):
        fetch_source(str(upstream.path), git(upstream.path, "rev-parse", "HEAD"), target)
    (target / "file").write_text("mine")
    with pytest.raises(EngineError, match="uncommitted changes"):
        fetch_source(str(upstream.path), upstream.commit, target)


@pytest.mark.parametrize(
    ("url", "wanted", "message"),
    [
        ("/nonesuch/repository", "0" * 40, "cannot clone"),
        ("https://nowhere.invalid/x.git", "0" * 40, "cannot clone"),
        ("--upload-pack=touch /tmp/pwned", "0" * 40, "not a repository address"),
        ("ext::sh -c touch% /tmp/pwned", "0" * 40, "cannot clone"),
    ],
)
def test_what_cannot_be_cloned_leaves_nothing(url: str, wanted: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=message):
        fetch_source(url, wanted, tmp_path / "src/gem5")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    assert not Path("/tmp/pwned").exists()


def test_an_unknown_commit_is_said(upstream: Repository, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="has no such commit") as caught:
        fetch_source(str(upstream.path), "f" * 40, tmp_path / "src/gem5")
    assert caught.value.value == "f" * 40
    assert [path.name for path in (tmp_path / "src").iterdir()] == [".gem5.lock"]


def test_a_clone_cut_off_half_way_publishes_nothing(
    upstream: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git dies after it has fetched the objects, before the files are there."""
    real = subprocess.run(
        ["sh", "-c", "command -v git"], capture_output=True, text=True, check=True
    ).stdout.strip()
    broken = tmp_path / "bin/git"
    broken.parent.mkdir()
    broken.write_text(f'#!/bin/sh\ncase "$*" in *checkout*) kill -9 $$ ;; esac\nexec {real} "$@"\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent), prepend=":")
    with pytest.raises(EngineError):
        fetch_source(str(upstream.path), upstream.commit, tmp_path / "src/gem5")
    assert [path.name for path in (tmp_path / "src").iterdir()] == [".gem5.lock"]


def test_changes_are_refused_or_recorded(upstream: Repository) -> None:
    head = git(upstream.path, "rev-parse", "HEAD")
    (upstream.path / "untracked").write_text("a build leaves such files")
    assert use_checkout(upstream.path) == SourceRecord(path=str(upstream.path), commit=head)
    (upstream.path / "file").write_text("three")
    with pytest.raises(EngineError, match="allow_dirty"):
        use_checkout(upstream.path)
    first = use_checkout(upstream.path, allow_dirty=True)
    assert first.dirty
    (upstream.path / "file").write_text("four")
    assert use_checkout(upstream.path, allow_dirty=True).changes_sha256 != first.changes_sha256


def test_a_directory_without_git_needs_consent(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.raises(EngineError, match="not a git checkout"):
        use_checkout(tree)
    assert use_checkout(tree, allow_dirty=True).commit is None
    with pytest.raises(EngineError, match="no such source directory"):
        use_checkout(tmp_path / "nowhere")


def test_the_same_content_again_keeps_the_records_time(tmp_path: Path) -> None:
    """A re-cloned toolchain must not make day-long runs look out of date."""
    path = tmp_path / "source.json"
    record = SourceRecord(path="/src", commit="a" * 40)
    write_record(path, record)
    before = path.stat().st_mtime_ns
    write_record(path, SourceRecord(path="/src", commit="a" * 40))
    assert path.stat().st_mtime_ns == before
    assert read_record(path, SourceRecord) == record
    write_record(path, SourceRecord(path="/src", commit="b" * 40))
    assert read_record(path, SourceRecord).commit == "b" * 40
