"""A point's identity follows what the user brought along, uncommitted changes included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from apuflow.errors import ConfigError
from apuflow.files import remembered_sha256, sha256_file
from apuflow.origin import checkout_commit


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


def test_a_remembered_hash_follows_the_file(tmp_path: Path) -> None:
    file, note = tmp_path / "program", tmp_path / "notes/note.json"
    for content in (b"one", b"two!", b"one"):
        file.write_bytes(content)
        assert remembered_sha256(file, note) == sha256_file(file) == remembered_sha256(file, note)
    note.write_text("{damaged")
    assert remembered_sha256(file, note) == sha256_file(file)
