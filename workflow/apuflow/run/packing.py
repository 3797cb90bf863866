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


def pack(run_dir: Path, bundle: Path) -> None:
    """Pack a run's statistics and tries; not its links, which lead to files that other rules make."""
    files = sorted(path for path in run_dir.rglob("*") if path.is_file() and not path.is_symlink())
    with atomic_write(bundle) as part, tarfile.open(part, "w:gz", compresslevel=1) as archive:
        for path in files:
            if path.parent != run_dir or path.name not in (*_LEFT_OUT, bundle.name):
                archive.add(path, str(path.relative_to(run_dir)))


def unpack(bundle: Path, run_dir: Path) -> None:
    """Put a run's files where they were; those of the same name are replaced."""
    with tarfile.open(bundle) as archive:
        for member in archive:
            (run_dir / member.name).unlink(missing_ok=True)
            archive.extract(member, run_dir, filter="data")


@contextlib.contextmanager
def bundled(run_dir: Path, finished: str | None, failed: str | None) -> Iterator[None]:
    """Around a run: pack what it leaves, whether it ends well or not.

    Args:
        finished: the bundle of a run that has its record; None: its files are needed here alone.
        failed: the bundle of one that has none, which is a log: Snakemake stores no output of a failed job.
    """
    try:
        yield
    except BaseException:
        if failed is not None and run_dir.is_dir():
            pack(run_dir, Path(failed))
        raise
    if finished is not None:
        pack(run_dir, Path(finished))


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
