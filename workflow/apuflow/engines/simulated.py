"""What programs that run on gem5 have in common: the launcher's process, and what a record says of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from apuflow import miopen
from apuflow.configure import Release
from apuflow.configure.point import Point
from apuflow.containers.job import Mount
from apuflow.core.files import sha256_file
from apuflow.core.record import LaunchRecord, Provenance, scalars
from apuflow.core.scalar import Scalar
from apuflow.gem5.stats.checks import RequiredRow
from apuflow.launcher.dispatch_list import DispatchList, Statistics
from apuflow.prepare.builds import DnnmarkRecord, Gem5Record
from apuflow.prepare.images import ImageRecord
from apuflow.rocblas.call import changed, library_of
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import Judge, PointFacts, Process
from apuflow_analysis.counters.terms import relied_on

ERROR = "apuflow-launcher: error:"


def point_facts(point: Point) -> PointFacts:
    """The point as its record shows it."""
    return PointFacts(
        engine=point.engine,
        workload=point.workload,
        direction=point.direction,
        point=point.id,
        identity=point.describe(),
        axes=scalars(point.axes),
        options=scalars(point.options),
        gfx=point.gfx,
        release=point.release,
        release_facts=point.release_facts,
    )


def gem5_of(record: Gem5Record, release: Release, *, quick_statistics: bool = False) -> Gem5:
    """A gem5 as its release behaves."""
    return Gem5(
        binary=Path(record.binary),
        script=Path(record.script),
        stdout_file=release.capabilities.stdout_file,
        stderr_file=release.capabilities.stderr_file,
        traces=not record.binary.endswith(".fast"),
        quick_statistics=quick_statistics,
    )


def launch_records(
    launches: Sequence[miopen.Launch], gfx: str, products: str | None = None
) -> tuple[LaunchRecord, ...]:
    """Launches as a run's record shows them, loops unrolled.

    Args:
        products: whose kernels a program's runtime takes for matrix products; None: those of the launches.
    """
    return tuple(
        LaunchRecord(
            layer=launch.layer,
            layer_kind=launch.layer_kind,
            direction=launch.direction,
            kernel=launch.kernel,
            grid=launch.grid,
            workgroup=launch.workgroup,
            stand_in=None if products else launch.note or None,
            library=_library(launch, gfx, products),
            changed=changed(launch, gfx) or None,
        )
        for launch in miopen.expand(launches)
    )


def _library(launch: miopen.Launch, gfx: str, products: str | None) -> str | None:
    if products is not None:
        return products if launch.gemm is not None else None
    return library_of(launch, gfx) or None


def required_rows() -> tuple[RequiredRow, ...]:
    """What the tables rely on in the statistics of a run."""
    return tuple(RequiredRow(names, optional) for names, optional in relied_on())


def mounts(gem5: Gem5Record, inputs: Iterable[Path]) -> tuple[Mount, ...]:
    """Read-only mounts for gem5 and whatever else a run reads, without those that lie in another launch."""
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
    benchmark: str = "",
    database: Path | None = None,
    data: Path | None = None,
    launcher: Path | None = None,
) -> Provenance:
    """What a run is made from, for its record.

    Args:
        build, benchmark: the DNNMark build and which of its programs runs.
    """
    notes = []
    if gem5.source.dirty and not gem5.patches:
        notes.append(f"gem5 sources have uncommitted changes (sha256 {gem5.source.changes_sha256})")
    if gem5.quick_pipeline is not None:
        notes.append(f"gem5 was built with the quick pipeline (sha256 {gem5.quick_pipeline})")
    if image.dockerfile is not None:
        notes.append(f"image built from {image.dockerfile}")
    if build is not None and build.source is not None and build.source.dirty:
        notes.append(f"DNNMark sources have uncommitted changes (sha256 {build.source.changes_sha256})")
    text = point.work.text
    return Provenance(
        gem5_commit=gem5.source.commit,
        gem5_patches="; ".join(gem5.patches) or None,
        gem5_binary=gem5.binary,
        gem5_binary_sha256=gem5.sha256,
        image_digest=image.digest,
        dnnmark_commit=build.source.commit if build is not None and build.source is not None else None,
        dnnmark_sha256=build.programs.get(benchmark) if build is not None else None,
        config_sha256=hashlib.sha256(text.encode()).hexdigest() if text is not None else None,
        kernel_db_sha256=sha256_file(database) if database is not None else None,
        launcher_sha256=sha256_file(launcher) if launcher is not None else None,
        mmap_bytes=data.stat().st_size if data is not None else None,
        notes=tuple(notes),
    )


def statistics_of(release: Release) -> Statistics:
    """What the guest does with gem5's statistics: what the release's own script leaves to it."""
    return "reset" if release.capabilities.per_kernel_statistics else "dispatch"


def launched(
    contents: DispatchList,
    *,
    options: Mapping[str, Scalar | None],
    launcher: Path,
    list_file: Path,
    links: Mapping[str, Path],
    judge: Judge,
    data: Mapping[str, bytes] | None = None,
    trace_workgroups: bool = False,
) -> Process:
    """The process of a dispatch list.

    Args:
        list_file: where the list stands in the process's directory.
        links: code objects and data, by the names that the list gives them.
        data: more files to write beside the list.
        trace_workgroups: have gem5 trace every workgroup.
    """
    count = len(contents.dispatches)
    return Process(
        guest=Guest(
            directory=launcher.absolute().parent,
            program=launcher.name,
            arguments=(str(list_file),),
        ),
        options=options,
        expectation=Expectation(
            end_marker=contents.end_marker,
            error_texts=(ERROR,),
            blocks=count + 2 if contents.statistics == "dispatch" else None,
            kernels=count,
            required=required_rows(),
        ),
        files={str(list_file): contents.text()},
        data=data or {},
        links=links,
        judge=judge,
        trace_workgroups=trace_workgroups,
    )
