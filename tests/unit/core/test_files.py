"""Files written whole, and their hashes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from apuflow.core.files import Remembered, remembered_sha256, sha256_file


def test_a_remembered_hash_follows_the_file(tmp_path: Path) -> None:
    file, note = tmp_path / "program", tmp_path / "notes/note.json"
    for content in (b"one", b"two!", b"one"):
        file.write_bytes(content)
        assert remembered_sha256(file, note) == sha256_file(file) == remembered_sha256(file, note)
    note.write_text("{damaged")
    assert remembered_sha256(file, note) == sha256_file(file)


def test_what_was_made_of_a_file_is_made_once_until_it_changes(tmp_path: Path) -> None:
    read: list[str] = []

    def make(path: Path) -> str:
        read.append(path.read_text())
        return read[-1]

    remembered, file = Remembered(make), tmp_path / "file"
    file.write_text("one")
    assert [remembered(file), remembered(file)] == ["one", "one"] and len(read) == 2  # it may change yet
    tick = time.time_ns()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: tick / 1e9 + 3600)
        assert [remembered(file) for _ in range(3)] == ["one"] * 3 and len(read) == 3
        file.write_text("two")  # as long as before
        os.utime(file, ns=(tick + 10**9, tick + 10**9))
        assert remembered(file) == "two" and len(read) == 4
        file.unlink()
        with pytest.raises(FileNotFoundError):
            remembered(file)
