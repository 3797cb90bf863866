"""What git says of a checkout is the checkout's own: no hook, setting or variable of others changes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from standins import repositories

from apuflow.core.errors import EngineError
from apuflow.core.git import changes_of, commit_of, git


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    path = tmp_path / "checkout"
    path.mkdir()
    (path / "file").write_text("one\n")
    repositories.commit(path)
    (path / "file").write_text("two\n")
    return path


PATCH = """\
diff --git a/file b/file
index 5626abf..f719efd 100644
--- a/file
+++ b/file
@@ -1 +1 @@
-one
+two
"""


def test_changes_are_a_patch_of_known_files(checkout: Path) -> None:
    (checkout / "untracked").write_text("a build leaves such files")
    assert changes_of(checkout).decode() == PATCH
    (checkout / "file").write_text("one\n")
    assert changes_of(checkout) == b""


def test_settings_and_programs_of_a_checkout_do_not_change_them(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\n")
    program.chmod(0o755)
    for key, value in {
        "diff.external": str(program),
        "core.fsmonitor": str(program),
        "diff.noprefix": "true",
        "diff.own.textconv": str(program),
    }.items():
        subprocess.run(["git", "-C", checkout, "config", key, value], check=True)
    (checkout / ".git/info/attributes").write_text("file diff=own\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    assert changes_of(checkout).decode() == PATCH
    assert not ran.exists()


def test_a_commit_is_its_full_hash(checkout: Path) -> None:
    head = (checkout / ".git/refs/heads/stable").read_text().strip()
    assert commit_of(checkout) == head and len(head) == 40


def test_what_git_says_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"git rev-parse: .*not a git repository"):
        commit_of(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="install git"):
        git(tmp_path, "status")
