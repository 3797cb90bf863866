"""What one run consists of: the point, its gem5 process, how that is run and how it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from apuflow.containers.job import ContainerEngine, Exit, Limits, Mount
from apuflow.containers.shared_start import IDLE_SECONDS, SharedStart
from apuflow.core.errors import EngineError
from apuflow.core.owner import Owner
from apuflow.core.record import DispatchRecord, LaunchRecord, Provenance, ReleaseFacts, Results, RunRecord
from apuflow.core.scalar import Scalar
from apuflow.run.command import OUTDIR, Gem5, Guest, gem5_command, start_files
from apuflow.run.outcome import Expectation, Outcome

Compression = Literal["none", "gz", "zst"]
SERVER = Path(__file__).with_name("fork_server.py")
"""Runs inside gem5: it must not be imported."""
_BEGUN = ("config.ini", "citations.bib")
"""What gem5 writes while it builds the machine, besides its standard output and error."""


@dataclass(frozen=True)
class PointFacts:
    """The point, as plain values: what goes into the record unchanged."""

    engine: str
    workload: str
    direction: str | None
    point: str
    identity: Mapping[str, Any]
    axes: Mapping[str, Scalar | None]
    options: Mapping[str, Scalar | None]
    gfx: str | None
    release: str | None
    release_facts: ReleaseFacts | None = None


class Judge(Protocol):
    """Knows what a process's program should have computed."""

    def results(self, directory: Path, /) -> Results | None:
        """Whether what a finished process left in its directory is right; None: there is nothing to say."""

    def explained(self, text: str) -> str:
        """``text``, with what in its program may have made gem5 fail."""


@dataclass(frozen=True)
class Process:
    """The gem5 process of a run.

    Attributes:
        guest: the program inside gem5; its working directory is the process's own directory.
        options: apu_se.py's options, all explicit.
        expectation: what proves that it finished.
        files: texts to write into the working directory before the start, by relative path.
        data: the same, as bytes.
        copies: files to copy there; the guest may write to them (MIOpen opens its database for writing).
        links: files to show there without copying (the mmap file).
        home: HOME of the guest, relative to the working directory.
        judge: looks at what it computed; None: nobody can tell.
        rocm: the guest needs ROCm: it gets apu_se.py's own default environment (HOME as above) under the
            program's. False: the program's environment is all it gets.
        trace_workgroups: gem5 traces every workgroup of its kernels.
    """

    guest: Guest
    options: Mapping[str, Scalar | None | None]
    expectation: Expectation = field(default_factory=Expectation)
    files: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, bytes] = field(default_factory=dict)
    copies: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, Path] = field(default_factory=dict)
    home: str = "home"
    judge: Judge | None = None
    rocm: bool = False
    trace_workgroups: bool = False

    def command(self, gem5: Gem5, directory: Path, before: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Its command line in a working directory (see :func:`gem5_command`)."""
        return gem5_command(
            gem5,
            self.options,
            self.guest,
            directory,
            trace_workgroups=self.trace_workgroups,
            before=before,
        )


@dataclass(frozen=True)
class Ended:
    """A process that ended, with what it proved."""

    directory: Path
    command: tuple[str, ...]
    exit: Exit
    outcome: Outcome
    gem5_version: str | None
    results: Results | None = None
    dispatches: tuple[DispatchRecord, ...] = ()


@dataclass(frozen=True)
class Simulation:
    """One run of one point.

    Attributes:
        project: the project's directory; containers of it are found again by it.
        run_dir: ``runs/<engine>/<workload>/<point>``.
        container, image: how gem5 is started; image None for the host engine.
        mounts: what it needs to see besides its own directory (gem5, DNNMark, inputs), read-only.
        on_failure: strict: a failed run leaves no run.json and raises; record: it leaves one with its status.
        launches: the GPU kernels.
        shared_start: where runs of one machine share the start of gem5, the directory of the started ones.
    """

    project: Path
    run_dir: Path
    point: PointFacts
    gem5: Gem5
    process: Process
    container: ContainerEngine
    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    limits: Limits = field(default_factory=Limits)
    compress: Compression = "none"
    on_failure: Literal["strict", "record"] = "strict"
    provenance: Provenance = field(default_factory=Provenance)
    launches: tuple[LaunchRecord, ...] = ()
    shared_start: Path | None = None


class RunFailed(EngineError):
    """A run that did not prove that it finished; ``record`` says how it ended.

    ``stopped``: its process was told to stop, so that no other run shall be begun in it.
    """

    def __init__(self, record: RunRecord, directory: Path, *, stopped: bool = False) -> None:
        super().__init__(
            f"{record.engine} run of {record.workload} at {record.point} failed: {record.status}\n"
            f"  evidence: {record.evidence}",
            file=directory,
            remedy=record.remedy
            or "see m5out/, log and command.sh there; `on_failure: record` shows failed points in tables",
        )
        self.record = record
        self.stopped = stopped


def shared_start(simulation: Simulation) -> SharedStart | None:
    """What a run has in common with others on the same machine; None where it begins by itself.

    The guest's program, its arguments and its environment are part of the machine that gem5 builds, so they
    have to be the same; what its files hold need not be. DNNMark's environment names the run's directory.
    """
    process, gem5 = simulation.process, simulation.gem5
    if simulation.shared_start is None or process.rocm:
        return None
    given = start_files(gem5, process.guest.environment)

    def start(place: Path, owner: Owner) -> tuple[str, ...]:
        before = (str(SERVER), str(IDLE_SECONDS), str(owner.pid), str(owner.started))
        return process.command(gem5, place, before)

    binary = gem5.binary.stat()
    kind = json.dumps([process.command(gem5, Path()), given, binary.st_mtime_ns, binary.st_size])
    files = (*process.files, *process.data, *process.copies, *process.links)
    return SharedStart(
        place=simulation.shared_start / hashlib.sha256(kind.encode()).hexdigest()[:16],
        command=start,
        files=given,
        own=tuple(dict.fromkeys(Path(name).parts[0] for name in files)),
        begun=_BEGUN,
        outdir=OUTDIR,
    )
