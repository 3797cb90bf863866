"""What a run leaves beside its record, as one file: storage takes one file whole or not at all."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

from apuflow.core.files import atomic_write

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
