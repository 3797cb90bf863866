"""Checks at the start of a run that tools are unchanged since they were recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.core.files import remembered_sha256, sha256_file
from apuflow.prepare.dnnmark import DnnmarkRecord
from apuflow.prepare.gem5 import Gem5Record
from apuflow.prepare.sources import use_checkout


def unchanged_gem5(record: Gem5Record, file: Path) -> Gem5Record:
    """Check gem5 and return its record.

    Args:
        file: the record's file. A note next to it avoids hashing an unchanged binary again.

    Raises:
        EngineError: program or scripts of a gem5 built here have changed. A site's gem5 may change, because
        its hash is part of the points' identity; the record then has the new hash.
    """
    actual = _hash(Path(record.binary), file.with_name(f".{file.name}.seen"))
    if actual != record.sha256:
        if record.target is None:
            return record.model_copy(update={"sha256": actual})
        raise EngineError(
            "this gem5 is not the recorded program",
            file=record.binary,
            value=f"sha256 {actual[:12]}..., recorded {record.sha256[:12]}...",
            remedy=f"remove it and {file}, and start the workflow again: it is built again",
        )
    source = record.source
    if source.commit is not None and shutil.which("git") is not None:
        now = use_checkout(Path(source.path), commit=source.commit, allow_dirty=source.dirty)
        if now.changes_sha256 != source.changes_sha256:
            raise EngineError(
                "gem5's sources have other changes than when they were recorded",
                file=source.path,
                remedy=f"undo them, or remove {file.parent} and start the workflow again",
            )
    return record


def check_dnnmark(record: DnnmarkRecord, benchmark: str, file: Path) -> None:
    """Raise EngineError if a benchmark or DNNMark's library has changed; ``file`` is the record's."""
    build = Path(record.build)
    for name, program in (
        ("libdnnmark.so", build / "libdnnmark.so"),
        (benchmark, build / "benchmarks" / benchmark / f"dnnmark_{benchmark}"),
    ):
        if name in record.programs and _hash(program, None) != record.programs[name]:
            raise EngineError(
                "this DNNMark program is not the one that was recorded",
                file=program,
                remedy=f"remove {file} (and the program, if the workflow shall build it), then start the "
                "workflow again",
            )


def _hash(path: Path, seen: Path | None) -> str:
    try:
        return sha256_file(path) if seen is None else remembered_sha256(path, seen)
    except OSError as error:
        raise EngineError(
            f"a recorded program cannot be read: {error.strerror}",
            file=path,
            remedy="put it back, or remove its record below build/toolchain: it is made again",
        ) from None
