"""From a point to the gem5 process that runs it: DNNMark programs and other GPU programs (engine gem5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from analysis.gem5_terms import relied_on
from analysis.identities import AS_MANY, OF_EACH_UNIT
from apuflow import dnnmark, miopen
from apuflow.config import CommandFile, Release
from apuflow.containers import Mount
from apuflow.errors import ApuflowError, ConfigError
from apuflow.files import sha256_file
from apuflow.gem5.command import Gem5, Guest, refuse_redirected
from apuflow.gem5.outcome import Expectation
from apuflow.gem5.proof_needs import Equal, Need, Needs
from apuflow.gem5.simulation import Asked, Process
from apuflow.miopen.location import DatabaseLocation
from apuflow.points import Point
from apuflow.provenance import Launch, Provenance, scalars
from apuflow.toolchain import DnnmarkRecord, Gem5Record, ImageRecord

END_MARKER = "DNNMark suites: Tear down..."
"""The last thing every DNNMark benchmark logs (benchmarks/*/test_*.cc)."""

CONFIG = "workload.dnnmark"
DATA = "mmap.bin"
HOME = "home"


def asked(point: Point) -> Asked:
    """The point as its record shows it."""
    return Asked(
        engine=point.engine,
        workload=point.workload,
        direction=point.direction,
        point=point.id,
        identity=point.describe(),
        axes=scalars(point.axes),
        options=scalars(point.options),
        gfx=point.gfx,
        release=point.release,
    )


def installed(record: Gem5Record, release: Release) -> Gem5:
    """A gem5 as its release behaves."""
    return Gem5(
        binary=Path(record.binary),
        script=Path(record.script),
        stdout_file=release.capabilities.stdout_file,
        stderr_file=release.capabilities.stderr_file,
        per_kernel_statistics=release.capabilities.per_kernel_statistics,
    )


def dnnmark_process(
    point: Point,
    release: Release,
    build: DnnmarkRecord,
    *,
    run_dir: Path,
    database: Path | None,
    data: Path,
) -> Process:
    """A DNNMark benchmark on the point's network.

    Args:
        run_dir: where the process will run; MIOpen finds its database through HOME below it.
        database: kernel database, named as MIOpen looks for it; None for workloads that need none.
        data: the file for ``-mmap``.

    ``-debuginfo 1`` sends DNNMark's log to standard error, where its last line proves that it ended;
    without it
    the log goes to files inside gem5's fake /tmp.

    Raises:
        ConfigError: the build has no such program, or the guest could not read its files where they are.
    """
    benchmark = point.program.removeprefix("dnnmark_")
    if benchmark not in build.programs or point.config_text is None:
        raise ConfigError(
            "the DNNMark build has no such benchmark",
            file=build.build,
            value=benchmark,
            remedy=f"it has {', '.join(name for name in build.programs if not name.endswith('.so'))}",
        )
    for directory in (run_dir, Path(build.build)):
        refuse_redirected(directory.resolve())
    copies = {}
    if database is not None:
        where = DatabaseLocation(release.miopen.version_directory, release.miopen.cache_directory)
        copies[str(where.directory(HOME) / database.name)] = database
    blocks = None if release.capabilities.per_kernel_statistics else 1
    return Process(
        guest=Guest(
            directory=Path(build.build) / "benchmarks" / benchmark,
            program=point.program,
            arguments=("-config", CONFIG, "-mmap", DATA, "-debuginfo", "1"),
            end_marker=END_MARKER,
        ),
        options=dict(point.options),
        expectation=Expectation(end_marker=END_MARKER, blocks=blocks, needs=statistics_needs()),
        files={CONFIG: point.config_text},
        copies=copies,
        links={DATA: data},
        home=HOME,
        rocm=True,
    )


def command_process(point: Point, release: Release, command: CommandFile, *, project: Path) -> Process:
    """Any GPU program for apu_se.py, with the arguments and environment of its workload file.

    Raises:
        ConfigError: there is no such program.
    """
    binary = (project / command.binary).resolve()
    if not binary.is_file():
        raise ConfigError(
            "no such program",
            file=f"configs/workloads/{point.workload}.yaml",
            key="binary",
            value=str(binary),
        )
    return Process(
        guest=Guest(
            directory=binary.parent,
            program=binary.name,
            arguments=command.arguments,
            environment=command.environment,
            end_marker=command.end_marker,
            error_texts=command.error_texts,
        ),
        options=dict(point.options),
        expectation=Expectation(
            end_marker=command.end_marker,
            error_texts=command.error_texts,
            blocks=None if release.capabilities.per_kernel_statistics else 1,
            needs=statistics_needs(),
        ),
        home=HOME,
        rocm=True,
    )


def statistics_needs() -> Needs:
    """What the tables rely on in the statistics of a run."""
    rows = tuple(Need(names, optional) for names, optional in relied_on())
    return Needs(rows, tuple(Equal(left, right) for _, left, right in OF_EACH_UNIT), AS_MANY)


def kernel_launches(point: Point) -> tuple[Launch, ...]:
    """The GPU kernels that a DNNMark point launches, in order; none where they cannot be derived."""
    if point.config_text is None or point.direction is None:
        return ()
    units = point.options["num-compute-units"]
    try:
        found = miopen.launches(dnnmark.parse(point.config_text), point.direction, int(units or 0))
    except ApuflowError:
        return ()
    return launch_records(found)


def launch_records(found: Sequence[miopen.Launch]) -> tuple[Launch, ...]:
    """Launches as a run's record shows them, loops unrolled."""
    return tuple(
        Launch(
            layer=one.layer,
            layer_kind=one.layer_kind,
            direction=one.direction,
            kernel=one.kernel,
            grid=one.grid,
            workgroup=one.workgroup,
        )
        for one in miopen.expand(found)
    )


def mounts(gem5: Gem5Record, inputs: Iterable[Path]) -> tuple[Mount, ...]:
    """Read-only mounts for gem5 and whatever else a run reads, without those that lie in another one."""
    wanted = {
        Path(gem5.source.path).resolve(),
        Path(gem5.binary).parent,
        *(path.resolve() for path in inputs),
    }
    outer = [path for path in wanted if not any(parent in wanted for parent in path.parents)]
    return tuple(Mount(path) for path in sorted(outer))


def provenance(
    point: Point,
    gem5: Gem5Record,
    image: ImageRecord,
    *,
    build: DnnmarkRecord | None = None,
    database: Path | None = None,
    data: Path | None = None,
) -> Provenance:
    """What a run is made from, for its record."""
    notes = []
    if gem5.source.dirty:
        notes.append(f"gem5 sources have uncommitted changes (sha256 {gem5.source.changes_sha256})")
    if build is not None and build.source is not None and build.source.dirty:
        notes.append(f"DNNMark sources have uncommitted changes (sha256 {build.source.changes_sha256})")
    program, text = point.program.removeprefix("dnnmark_"), point.config_text
    return Provenance(
        gem5_commit=gem5.source.commit,
        gem5_binary=gem5.binary,
        gem5_binary_sha256=gem5.sha256,
        image_digest=image.digest,
        dnnmark_commit=build.source.commit if build is not None and build.source is not None else None,
        dnnmark_sha256=build.programs.get(program) if build is not None else None,
        config_sha256=hashlib.sha256(text.encode()).hexdigest() if text is not None else None,
        kernel_db_sha256=sha256_file(database) if database is not None else None,
        mmap_bytes=data.stat().st_size if data is not None else None,
        notes=tuple(notes),
    )
