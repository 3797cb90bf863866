"""What a run leaves, packed: all of it as one file for storage, and texts that are long."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from apuflow.core.files import atomic_write, write_text

LONGEST = 16 << 20
"""Bytes of a text that stays as it is: what gem5 and its guest print may be gigabytes."""

_SHOWN = 64 << 10
_LEFT_OUT = ("run.json", ".lock", "progress.json")
"""The record is an output of its own; the others say that a run goes on."""


@contextlib.contextmanager
def bundled(run_dir: Path, bundle: str | None) -> Iterator[None]:
    """Around a run: pack its statistics and tries at its end, however it ends. None: nothing is packed.

    Links are left out: they lead to files that other rules make.
    """
    try:
        yield
    finally:
        if bundle is not None and run_dir.is_dir():
            files = sorted(path for path in run_dir.rglob("*") if path.is_file() and not path.is_symlink())
            with atomic_write(bundle) as part, tarfile.open(part, "w:gz", compresslevel=1) as archive:
                for path in files:
                    if path.parent != run_dir or path.name not in _LEFT_OUT:
                        archive.add(path, str(path.relative_to(run_dir)))


def unpack(bundle: Path) -> None:
    """Replace a bundle in a run's directory by the files in it, and files of the same names."""
    if bundle.stat().st_size:  # Snakemake makes an empty file of a log that is not there
        with tarfile.open(bundle) as archive:
            for member in archive:
                (bundle.parent / member.name).unlink(missing_ok=True)
                archive.extract(member, bundle.parent, filter="data")
    bundle.unlink()


def pack_texts(files: Iterable[Path]) -> None:
    """Compress each text that is longer than LONGEST.

    ``NAME.zst`` has all of it; ``NAME`` keeps its beginning and end, with a line about it between them.
    """
    for file in files:
        try:
            size = file.stat().st_size
        except OSError:
            continue
        if size > LONGEST and not file.is_symlink():
            packed = file.with_name(f"{file.name}.zst")
            with atomic_write(packed, flush=False) as part, file.open("rb") as text, part.open("wb") as out:
                zstandard.ZstdCompressor(level=3).copy_stream(text, out)
            with file.open("rb") as text:
                head = text.read(_SHOWN).decode(errors="replace")
                text.seek(-_SHOWN, 2)
                tail = text.read().decode(errors="replace")
            note = f"[apuflow: {size:,} bytes are too long for a text; all of it: zstd -dc {packed.name}]"
            write_text(file, f"{head}\n{note}\n{tail}")
