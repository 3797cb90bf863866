"""Files written whole, and their hashes."""

from __future__ import annotations

from pathlib import Path

from apuflow.core.files import remembered_sha256, sha256_file


def test_a_remembered_hash_follows_the_file(tmp_path: Path) -> None:
    file, note = tmp_path / "program", tmp_path / "notes/note.json"
    for content in (b"one", b"two!", b"one"):
        file.write_bytes(content)
        assert remembered_sha256(file, note) == sha256_file(file) == remembered_sha256(file, note)
    note.write_text("{damaged")
    assert remembered_sha256(file, note) == sha256_file(file)
