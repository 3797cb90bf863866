"""From ended processes to the published record and statistics."""

from __future__ import annotations

import gzip
import importlib.metadata
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from apuflow.errors import EngineError
from apuflow.files import atomic_write
from apuflow.gem5.command import STATISTICS
from apuflow.gem5.simulation import Compression, Simulation
from apuflow.gem5.statscan import scan
from apuflow.provenance import RunRecord, host_facts, now, scalars

if TYPE_CHECKING:
    from apuflow.gem5.simulate import Ended

_VERSION = re.compile(r"^gem5 version (\S+)", re.M)
_SUFFIX: dict[Compression, str] = {"none": "", "gz": ".gz", "zst": ".zst"}


def gem5_version(simout: str) -> str | None:
    """The version that gem5 prints about itself."""
    match = _VERSION.search(simout)
    return match[1] if match else None


def record(
    simulation: Simulation, attempt: int, started: str, ended: Sequence[Ended], seconds: float
) -> RunRecord:
    """The record of a run whose last process decided how it ended."""
    asked, last = simulation.asked, ended[-1]
    ticks = [process.outcome.ticks for process in ended]
    shas = [process.outcome.statistics.sha256 for process in ended]
    provenance = simulation.provenance.model_copy(
        update={
            "apuflow_version": importlib.metadata.version("apuflow"),
            "gem5_version": last.gem5_version,
            "container_engine": simulation.container.name,
            "image": simulation.image,
            "statistics_sha256": shas[0] if len(shas) == 1 else None,
        }
    )
    where = f" (process {last.process.name})" if last.process.name and not last.outcome.completed else ""
    return RunRecord(
        engine=asked.engine,
        workload=asked.workload,
        direction=asked.direction,
        point=asked.point,
        identity=dict(asked.identity),
        axes=scalars(asked.axes),
        options=scalars(asked.options),
        gfx=asked.gfx,
        release=asked.release,
        status=last.outcome.status,
        evidence=last.outcome.evidence + where,
        remedy=last.outcome.remedy,
        exit_code=last.exit.code,
        attempt=attempt,
        started=started,
        ended=now(),
        wall_seconds=round(seconds, 3),
        peak_memory_bytes=max((process.exit.peak_memory_bytes or 0 for process in ended), default=0) or None,
        host=host_facts(),
        command=list(last.command),
        statistics=None,
        ticks=sum(tick or 0 for tick in ticks) if any(ticks) else None,
        provenance=provenance,
        launches=list(simulation.launches),
    )


def completed(simulation: Simulation, attempt: Path, ended: Sequence[Ended], draft: RunRecord) -> RunRecord:
    """Move a proven run's statistics to the run directory, then write ``run.json``: the record comes last."""
    names = []
    for process in ended:
        stem = f"stats-{process.process.name}.txt" if process.process.name else STATISTICS
        name = stem + _SUFFIX[simulation.compress]
        source = process.directory / "m5out" / STATISTICS
        _place(source, simulation.run_dir / name, process.outcome.statistics.sha256)
        names.append(name)
    final = draft.model_copy(update={"statistics": names[0] if not ended[0].process.name else names})
    final.write(simulation.run_dir / "run.json")
    for process in ended:
        shutil.rmtree(process.directory / process.process.home, ignore_errors=True)
        shutil.rmtree(process.directory / "m5out" / "fs", ignore_errors=True)
        (process.directory / "m5out" / STATISTICS).unlink(missing_ok=True)
    return final


def _place(source: Path, target: Path, sha256: str | None) -> None:
    """Compress statistics, read the result back, and only then let it have its name. Plain ones just move."""
    if target.suffix not in (".gz", ".zst"):
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
        if scan(part, target.suffix).sha256 != sha256:
            raise EngineError(
                "the statistics changed while they were put away",
                file=target,
                remedy="check the disk, then run again",
            )
