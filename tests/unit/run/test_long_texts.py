"""Texts of a run that are too long."""

from __future__ import annotations

from pathlib import Path

import zstandard

from apuflow.run.packing import LONGEST, pack_texts


def test_a_long_text_is_packed_whole_and_says_so(tmp_path: Path) -> None:
    text = b"first line\n" + b"warn: the same again\n" * 1_000_000 + b"Exiting because  of that\n"
    assert len(text) > LONGEST
    (tmp_path / "simout").write_bytes(text)
    (tmp_path / "simerr").write_bytes(b"short\n")
    pack_texts([tmp_path / name for name in ("simout", "simerr", "not there")])
    with (tmp_path / "simout.zst").open("rb") as packed:
        assert zstandard.ZstdDecompressor().stream_reader(packed).read() == text
    kept = (tmp_path / "simout").read_text()
    assert len(kept) < 200_000
    assert kept.startswith("first line\n") and kept.endswith("Exiting because  of that\n")
    assert "21,000,036 bytes are too long" in kept and "zstd -dc simout.zst" in kept
    assert (tmp_path / "simerr").read_bytes() == b"short\n"
    assert not (tmp_path / "simerr.zst").exists()
