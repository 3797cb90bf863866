"""From an ended process to the published record and statistics."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import zstandard
from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow import __version__
from apuflow.core.errors import EngineError
from apuflow.core.files import atomic_write, write_text
from apuflow.core.host import host_facts
from apuflow.core.record import RunRecord, now
from apuflow.gem5.stats.blocks import text_sha256
from apuflow.run.command import OUTDIR, STATISTICS
from apuflow.run.process import Compression, Ended, Simulation

_VERSION = re.compile(r"^gem5 version (\S+)", re.M)
PROVEN = "proven.json"
_SUFFIX: dict[Compression, str] = {"none": "", "gz": ".gz", "zst": ".zst"}


def gem5_version(simout: str) -> str | None:
    """The version that gem5 prints about itself."""
    match = _VERSION.search(simout)
    return match[1] if match else None


def record(simulation: Simulation, ended: Ended, began: str, seconds: float) -> RunRecord:
    """The record of a run that ended, in its attempt's directory."""
    outcome, exit_ = ended.outcome, ended.exit
    provenance = simulation.provenance.model_copy(
        update={
            "apuflow_version": __version__,
            "gem5_version": ended.gem5_version,
            "container_engine": simulation.container.name,
            "image": simulation.image,
            "statistics_sha256": outcome.statistics.sha256,
        }
    )
    return RunRecord(
        **vars(simulation.point),
        status=outcome.status,
        evidence=outcome.evidence,
        remedy=outcome.remedy,
        exit_code=exit_.code,
        attempt=int(ended.directory.name),
        started=began,
        ended=now(),
        wall_seconds=round(seconds, 3),
        peak_memory_bytes=exit_.peak_memory_bytes or None,
        host=host_facts(),
        command=list(ended.command),
        statistics=None,
        ticks=outcome.ticks or None,
        provenance=provenance,
        launches=list(simulation.launches),
        dispatches=list(ended.dispatches),
        results=ended.results,
    )


class ProvenFile(BaseModel):
    """Statistics of a proven run: where gem5 left them, their published name, the hash of their text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    name: str
    sha256: str | None


class Proven(BaseModel):
    """``proven.json`` of a try: everything that publishing it takes, should publishing not get to its end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    record: RunRecord
    files: tuple[ProvenFile, ...]


def completed(simulation: Simulation, ended: Ended, draft: RunRecord) -> RunRecord:
    """Move a proven run's statistics to the run directory, then write ``run.json``: the record comes last.

    What was proven is noted first: a run that ended is never repeated because publishing was cut short.
    """
    attempt, outdir = ended.directory, ended.directory / OUTDIR
    name = STATISTICS + _SUFFIX[simulation.compress]
    source = str((outdir / STATISTICS).relative_to(attempt))
    file = ProvenFile(source=source, name=name, sha256=ended.outcome.statistics.sha256)
    final = draft.model_copy(update={"statistics": name})
    proven = Proven(record=final, files=(file,))
    write_text(attempt / PROVEN, proven.model_dump_json(indent=1) + "\n")
    publish(simulation.run_dir, attempt, proven)
    shutil.rmtree(attempt / simulation.process.home, ignore_errors=True)
    shutil.rmtree(outdir / "fs", ignore_errors=True)
    (outdir / STATISTICS).unlink(missing_ok=True)
    return final


def unpublished(run_dir: Path) -> tuple[Path, Proven] | None:
    """The last try whose proof still holds, and that proof; None: there is none. Reads its statistics."""
    attempts = sorted(run_dir.glob(f"attempts/*/{PROVEN}"), key=lambda file: file.stat().st_mtime_ns)
    for file in reversed(attempts):
        try:
            proven = Proven.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            continue
        if all(
            _holds(run_dir / item.name, item.sha256) or _holds(file.parent / item.source, item.sha256)
            for item in proven.files
        ):
            return file.parent, proven
    return None


def publish(run_dir: Path, attempt: Path, proven: Proven) -> RunRecord:
    """Publish what a try proved."""
    for item in proven.files:
        if (attempt / item.source).exists() and not _holds(run_dir / item.name, item.sha256):
            _place(attempt / item.source, run_dir / item.name, item.sha256)
    proven.record.write(run_dir / "run.json")
    return proven.record


def _holds(file: Path, sha256: str | None) -> bool:
    return sha256 is not None and text_sha256(file) == sha256


def _place(source: Path, target: Path, sha256: str | None) -> None:
    """Compress statistics, read the result back, and only then let it have its name. Plain ones just move.

    Raises:
        EngineError: they are not what was proven.
    """
    changed = EngineError(
        "the statistics changed after they were proven", file=source, remedy="check the disk, then run again"
    )
    if target.suffix not in (".gz", ".zst"):
        if text_sha256(source) != sha256:
            raise changed
        source.replace(target)
        return
    with atomic_write(target) as part:
        with source.open("rb") as plain:
            if target.suffix == ".gz":
                with gzip.open(part, "wb", compresslevel=6) as packed:
                    shutil.copyfileobj(plain, packed, 1 << 20)
            else:
                with part.open("wb") as stream:
                    zstandard.ZstdCompressor(level=9).copy_stream(plain, stream)
        if text_sha256(part, target.suffix) != sha256:
            raise changed
