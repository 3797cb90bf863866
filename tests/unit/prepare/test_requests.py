"""What a run is made from: checkouts and files of one's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import load_site, load_workload
from apuflow.core.errors import ConfigError
from apuflow.prepare.requests import checkout_commit, supplied


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_uncommitted_changes_are_part_of_a_checkouts_identity(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("one\n")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")

    def seen() -> str:
        checkout_commit.cache_clear()
        return checkout_commit(tmp_path)

    assert seen() == head
    (tmp_path / "a").write_text("two\n")
    two = seen()
    (tmp_path / "a").write_text("three\n")
    three = seen()
    assert two.startswith(f"{head}+") and three.startswith(f"{head}+") and two != three
    git(tmp_path, "checkout", "-q", "a")
    assert seen() == head


def test_a_directory_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a git checkout"):
        checkout_commit(tmp_path / "nothing")


def test_what_a_site_brought_is_hashed_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/libdnnmark.so").write_bytes(b"abc")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/site.yaml").write_text("dnnmark: {build: mine}\n")
    found = supplied(load_site(tmp_path), [load_workload("softmax_fwd", ROOT)], tmp_path)
    # SHA-256 of "abc", FIPS 180-4
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert found == {"mine/libdnnmark.so": digest}
