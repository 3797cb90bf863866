"""The record of a run: what was asked, what ran, how it ended, and from which sources."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apuflow.core.errors import ApuflowError
from apuflow.core.files import atomic_write

Scalar = bool | int | float | str | None


class Status(StrEnum):
    """Every way a run can end. Only ``completed`` carries numbers."""

    COMPLETED = "completed"
    GUEST_FAILURE = "guest_failure"
    MISSING_KERNEL = "missing_kernel"
    GEM5_FATAL = "gem5_fatal"
    GEM5_PANIC = "gem5_panic"
    GEM5_CRASH = "gem5_crash"
    DEADLOCK = "deadlock"
    GUEST_OUT_OF_MEMORY = "guest_out_of_memory"
    HOST_OUT_OF_MEMORY = "host_out_of_memory"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    INCOMPLETE = "incomplete"
    NO_STATISTICS = "no_statistics"
    CONFIG_ERROR = "config_error"

    @property
    def recordable(self) -> bool:
        """A sweep with ``on_failure: record`` may show it: the same run would end like this again."""
        return self is not Status.INTERRUPTED


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Launch(Record):
    """One GPU kernel that the workload launches."""

    layer: str | None = None
    layer_kind: str | None = None
    direction: str | None = None
    kernel: str
    grid: tuple[int, ...] = ()
    workgroup: tuple[int, ...] = ()
    stand_in: str | None = Field(
        None, description="what a kernel of ours stands in for (engine gem5-kernels)"
    )


class Results(Record):
    """What a run's kernels have computed, against a reference (engine gem5-kernels)."""

    outputs: int = Field(0, description="buffers compared")
    agree: bool | None = Field(None, description="None: nothing was compared")
    max_relative_error: float | None = Field(
        None, description="largest difference over the buffer's largest element; None: not finite"
    )
    worst: str | None = Field(None, description="the buffer with the largest difference")
    note: str | None = Field(None, description="why nothing was compared, or what is known of a difference")


class Provenance(Record):
    """What a run was made from. None: it does not apply or is not known."""

    apuflow_version: str | None = None
    gem5_version: str | None = Field(None, description="as gem5 itself prints it")
    gem5_commit: str | None = None
    gem5_binary: str | None = None
    gem5_binary_sha256: str | None = None
    container_engine: str | None = None
    image: str | None = None
    image_digest: str | None = None
    dnnmark_commit: str | None = None
    dnnmark_sha256: str | None = Field(None, description="of the benchmark program")
    config_sha256: str | None = Field(None, description="of the .dnnmark text")
    kernel_db_sha256: str | None = None
    mmap_bytes: int | None = None
    statistics_sha256: str | None = Field(None, description="of the statistics' text, uncompressed")
    notes: tuple[str, ...] = ()


class RunRecord(Record):
    """``run.json`` of one point; ``format`` is raised when an older reader could misread it."""

    format: Literal[1] = 1
    engine: str
    workload: str
    direction: str | None
    point: str
    identity: dict[str, Any]
    axes: dict[str, Scalar]
    options: dict[str, Scalar]
    gfx: str | None
    release: str | None
    status: Status
    evidence: str
    remedy: str | None = None
    exit_code: int | None
    attempt: int
    started: str
    ended: str
    wall_seconds: float
    peak_memory_bytes: int | None
    host: dict[str, Scalar]
    command: list[str]
    statistics: str | list[str] | None
    ticks: int | None = None
    provenance: Provenance
    launches: list[Launch] = []
    results: Results | None = None

    def write(self, path: Path) -> None:
        """Write atomically: a reader never sees half a record."""
        with atomic_write(path) as part:
            part.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_record(path: Path) -> RunRecord:
    """Read a ``run.json`` (or ``failure.json``). ApuflowError when it is unreadable or of another format."""
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise ApuflowError(
            f"not a readable run record: {first}", file=path, remedy="delete it; the workflow makes it again"
        ) from error


def now() -> str:
    """The time in UTC, to the second, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def host_facts() -> dict[str, Scalar]:
    """The machine that a run ran on, as far as it explains its speed."""
    facts: dict[str, Scalar] = {
        "name": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "cpus": os.cpu_count(),
    }
    facts["memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                facts["cpu"] = line.partition(":")[2].strip()
                break
    return facts


def scalars(values: Mapping[str, Any]) -> dict[str, Scalar]:
    """A mapping with only what a record can hold; anything else as text."""
    return {
        key: value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
        for key, value in values.items()
    }
