"""``run.json``: a ``RunRecord`` of a point of gem5, or a ``BatchRecord`` of a preview."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, from_json

from apuflow.core.engines import engine_facts, is_batch
from apuflow.core.errors import AnalysisError
from apuflow.core.files import write_text
from apuflow.core.grid import layer, workgroups
from apuflow.core.inputs import inputs_of
from apuflow.core.scalar import Scalar

_REMEDY = "remove it and start the workflow again: what it recorded is made again"


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
        """Whether a sweep with ``on_failure: record`` shows it: a new run would end the same way."""
        return self is not Status.INTERRUPTED


class Part(BaseModel):
    """Values of exactly their type; keys of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, defer_build=True)


def _own_files(named: str | list[str] | None) -> str | list[str] | None:
    for name in [named] if isinstance(named, str) else named or ():
        if name in ("", ".", "..") or set(name) & set("/\\\0"):
            raise ValueError("the run record names no file of its own directory")
    return named


OwnFiles = Annotated[str | list[str] | None, AfterValidator(_own_files)]
Extent = Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]


@dataclass(frozen=True)
class ReleaseFacts:
    """Facts of a gem5 release that matter for its statistics; most are ``capabilities`` of its file.

    A record repeats them, so that tables need neither that file nor the release's name.

    Attributes:
        assumed_of: the release whose facts these are, where those of the one that ran are unknown.
        assumed: the assumed facts; empty: all.
        never_ran: the build, if no test of apuflow ran it.
        without_matrix_time: the GPU, if it has matrix instructions and gem5 no time of them.
    """

    barrier_slots: int
    keeps_cache_statistics: bool
    never_counted: tuple[str, ...] = ()
    gem5_version: str | None = None
    assumed_of: str | None = None
    assumed: tuple[str, ...] = ()
    never_ran: str | None = None
    without_matrix_time: str | None = None

    def doubts(self, release: str | None, matrix: bool = True) -> tuple[str, ...]:
        """Warnings about assumed facts of this release and builds that never ran; empty if there are none.

        ``matrix``: whether there are matrix instructions.
        """
        said = []
        if self.assumed_of is not None and self.assumed:
            said.append(f"{release} is known in part: {', '.join(self.assumed)} as in {self.assumed_of}")
        elif self.assumed_of is not None:
            said.append(f"{release} is not known: read as if it were {self.assumed_of}")
        if self.never_ran is not None:
            said.append(f"gem5 {release} ({self.never_ran}) never ran in apuflow's tests")
        if matrix and self.without_matrix_time is not None:
            said.append(
                f"gem5 has no time of {self.without_matrix_time}'s matrix instructions: each takes a SIMD "
                "unit as long as one vector instruction"
            )
        return tuple(said)


class LaunchRecord(Part):
    """One GPU kernel that the workload launches."""

    layer: str | None = None
    layer_kind: str | None = None
    direction: str | None = None
    kernel: str
    grid: Extent = Field(description="work-items in x, y and z")
    workgroup: Extent = Field(description="work-items of a workgroup in x, y and z")
    stand_in: str | None = Field(
        None, description="what a kernel of ours stands in for (engine gem5-kernels)"
    )
    library: str | None = Field(None, description="whose matrix product the kernel is, such as rocBLAS'")
    changed: str | None = Field(None, description="what in that kernel is not as its library has it")
    matrix: dict[str, tuple[int, int]] | None = Field(
        None,
        description="by type of its matrix instructions: operations of one, and cycles that it holds a SIMD "
        "unit's matrix core by AMD's manuals; without types of which it has several",
    )
    ran: int | None = Field(
        None, gt=0, description="workgroups that were launched, the first ones of the grid; None: all of them"
    )
    kept_whole: str | None = Field(
        None, description="why all workgroups were launched where the sweep asked for fewer"
    )
    weight: float | None = Field(
        None,
        ge=0,
        description="how often it counts in the program of which some launches are recorded; None: once",
    )

    @model_validator(mode="after")
    def _same_dimensions(self) -> LaunchRecord:
        if len(self.grid) != len(self.workgroup):
            raise ValueError("a launch's grid and workgroup differ in their number of dimensions")
        return self

    @property
    def workgroups(self) -> int:
        """Workgroups of the launch."""
        return math.prod(workgroups(self.grid, self.workgroup))

    @property
    def layer_workgroups(self) -> int:
        """Workgroups of its first layer: with the same place along the last axis that has several."""
        return layer(workgroups(self.grid, self.workgroup))

    @property
    def launched_workgroups(self) -> int:
        """Workgroups that gem5 received."""
        return self.ran or self.workgroups


class DispatchRecord(Part):
    """A kernel's dispatch from gem5's trace. Ticks are picoseconds."""

    name: str = Field(description="as gem5 calls it: it knows only `Blit kernel` and others")
    grid: Extent
    workgroup: Extent
    arguments: int = Field(description="address of the kernel's arguments in the program")
    code: int | None = Field(None, description="address of its instructions; the same for the same kernel")
    vector_registers: int | None = None
    scalar_registers: int | None = None
    submitted: int = Field(description="tick at which gem5 took the packet from its queue")
    launched: int | None = Field(None, description="tick of its first workgroup; None: it has none yet")
    completed: int | None = Field(None, description="tick of its last workgroup's end; None: it did not end")
    held: int | None = Field(
        None, gt=0, description="workgroups that had begun when the first one ended; None: not traced"
    )
    fillings: tuple[float, ...] = Field(
        (), description="mean tick at which the first ``held`` workgroups began, the next ones, and so on"
    )


class Results(Part):
    """A run's outputs, compared with a reference (engine gem5-kernels)."""

    outputs: int = Field(0, description="buffers compared")
    agree: bool | None = Field(None, description="None: nothing was compared")
    max_relative_error: float | None = Field(
        None, description="largest difference over the buffer's largest element; None: not finite"
    )
    worst: str | None = Field(None, description="the buffer with the largest difference")
    note: str | None = Field(None, description="why nothing was compared, or what is known of a difference")


class Provenance(Part):
    """Sources of a run. None: not applicable or unknown."""

    apuflow_version: str | None = None
    gem5_version: str | None = Field(None, description="as gem5 itself prints it")
    gem5_commit: str | None = None
    gem5_patches: str | None = Field(None, description="on its sources, each with the start of its hash")
    gem5_binary: str | None = None
    gem5_binary_sha256: str | None = None
    container_engine: str | None = None
    image: str | None = None
    image_digest: str | None = None
    dnnmark_commit: str | None = None
    dnnmark_sha256: str | None = Field(None, description="of the benchmark program")
    config_sha256: str | None = Field(None, description="of the .dnnmark text")
    kernel_db_sha256: str | None = None
    launcher_sha256: str | None = Field(None, description="of the program that starts kernels without ROCm")
    mmap_bytes: int | None = None
    statistics_sha256: str | None = Field(
        None,
        description="of the statistics' text, uncompressed; of several files one each, with spaces between",
    )
    notes: tuple[str, ...] = ()


class PreviewProvenance(Part):
    """Sources of a preview batch."""

    preview_version: str = Field(description="of the timing model (apuflow.core.engines)")


class _File(Part):
    def write(self, path: Path) -> None:
        """Write atomically."""
        write_text(path, self.model_dump_json(indent=1) + "\n")


class RunRecord(_File):
    """``run.json`` of a point; ``format`` is raised if an older reader could misread it."""

    format: Literal[1] = 1
    engine: str
    workload: str
    direction: str | None
    point: str
    identity: dict[str, Any] = Field(description="what the point's name is a hash of (Point.describe)")
    axes: dict[str, Scalar | None]
    options: dict[str, Scalar | None]
    gfx: str | None
    release: str | None
    release_facts: ReleaseFacts | None = Field(None, description="None: recorded before records had them")
    status: Status
    evidence: str
    remedy: str | None = None
    exit_code: int | None
    attempt: int
    started: str
    ended: str
    wall_seconds: float
    peak_memory_bytes: int | None
    host: dict[str, Scalar | None]
    command: list[str]
    statistics: OwnFiles
    ticks: int | None = None
    provenance: Provenance
    launches: list[LaunchRecord] = []
    dispatches: list[DispatchRecord] = Field([], description="empty: gem5 was not asked, or cannot trace")
    results: Results | None = None

    @property
    def engine_version(self) -> str | None:
        """Version of an engine of this project; None for others."""
        version = self.identity.get("version")
        return version if isinstance(version, str) else None

    @property
    def config(self) -> str | None:
        """The network or operation in canonical form; None for a program."""
        config = self.identity.get("config")
        return config if isinstance(config, str) else None

    @property
    def products(self) -> Mapping[str, str] | None:
        """Commits of rocBLAS' kernels; None: no product, the stand-in, or the kernels of the image."""
        return self.identity.get("products")

    @property
    def inputs(self) -> str | None:
        """Place of the inputs when the first kernel starts (a sweep's key); None if a program decides it."""
        return inputs_of(self.identity) if self.own_kernels_only else None

    @property
    def own_kernels_only(self) -> bool:
        """Whether its statistics cover only the layer's kernels (see EngineFacts)."""
        return engine_facts(self.engine).own_kernels_only

    def statistics_files(self, directory: str | Path) -> tuple[Path, ...]:
        """The statistics files in the record's ``directory``, in the order of launches if each has one."""
        named = self.statistics or ()
        names = [named] if isinstance(named, str) else named
        return tuple(Path(directory) / name for name in names)


class BatchRecord(_File):
    """``run.json`` of a preview batch, whose numbers are in ``counters.parquet`` next to it."""

    format: Literal[1] = 1
    engine: Literal["preview"] = "preview"
    workload: str
    direction: str | None
    status: Status
    evidence: str
    axes: dict[str, tuple[Scalar | None, ...]] = Field(description="every value that an axis takes")
    points: int
    started: str
    ended: str
    host: dict[str, Scalar | None]
    provenance: PreviewProvenance

    @property
    def engine_version(self) -> str:
        """Version of the timing model."""
        return self.provenance.preview_version


def read(file: str | Path) -> RunRecord | BatchRecord:
    """Read a ``run.json`` or ``failure.json`` of either kind; AnalysisError for any other file."""
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        remedy = "give the directory of a run: runs/<engine>/<workload>/<point>"
        raise AnalysisError(f"no run record here: {error.strerror}", file=file, remedy=remedy) from None
    try:
        return RunRecord.model_validate_json(text)
    except ValidationError as error:
        problem = error
    content: Any = None
    with contextlib.suppress(ValueError):
        content = from_json(text)
    if isinstance(content, dict) and is_batch(str(content.get("engine"))):
        try:
            return BatchRecord.model_validate_json(text)
        except ValidationError as error:
            problem = error
    raise _described(problem.errors()[0], content, file)


def read_run(file: str | Path) -> RunRecord:
    """Read the record of one point's run; raises AnalysisError as ``read``, or for that of a batch."""
    record = read(file)
    if isinstance(record, BatchRecord):
        message = "this is the record of a preview batch, not of one run"
        remedy = "give the directory of a run of engine gem5 or gem5-kernels"
        raise AnalysisError(message, file=file, remedy=remedy)
    return record


def _described(problem: ErrorDetails, content: Any, file: str | Path) -> AnalysisError:
    """The error for an invalid record."""
    kind, place = problem["type"], problem["loc"]
    if kind == "json_invalid":
        said = f"the run record is not JSON: {problem['ctx']['error']}"
        return AnalysisError(said, file=file, remedy=_REMEDY)
    if not place:
        return AnalysisError("the run record is damaged: it has no keys", file=file, remedy=_REMEDY)
    if kind == "missing":
        key = ".".join(map(str, place))
        return AnalysisError("the run record lacks a key", file=file, key=key, remedy=_REMEDY)
    key, value = _found(content, place)
    remedy = _REMEDY
    said = str(problem["ctx"]["error"]) if kind == "value_error" else "the run record is damaged"
    if key == "format":
        said = "the run record has a format that this version does not know"
        remedy = "read it with the version of apuflow that wrote it"
    return AnalysisError(said, file=file, key=key, value=value, remedy=remedy)


def _found(content: Any, place: tuple[int | str, ...]) -> tuple[str, Any]:
    """Key and value at a place of the document, without the names of tried types."""
    key = []
    for step in place:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            break
        key.append(str(step))
    return ".".join(key), content


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def scalars(values: Mapping[str, Any]) -> dict[str, Scalar | None]:
    """A mapping with other types than a record's as text."""
    return {
        key: value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
        for key, value in values.items()
    }
