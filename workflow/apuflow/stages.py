"""The expensive stages as plain functions: what each rule of the toolchain, the inputs and the runs does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from apuflow import paths
from apuflow.config import Sweep, load_workload
from apuflow.containers import Engine, Job, Labels, Limits, Mount, get_engine
from apuflow.errors import EngineError
from apuflow.gem5 import workloads
from apuflow.gem5.command import refuse_redirected
from apuflow.gem5.simulate import simulate
from apuflow.gem5.simulation import Process, Simulation
from apuflow.launcher import engine as kernels_engine
from apuflow.launcher.plan import kernel_source
from apuflow.miopen.compiler import CLANG_OCL, Runner, run_on_host
from apuflow.miopen.objects import compile_object
from apuflow.options import size_bytes
from apuflow.points import Point
from apuflow.provenance import Launch, Provenance, RunRecord
from apuflow.toolchain import (
    DnnmarkRecord,
    Gem5Record,
    SourceRecord,
    build_dnnmark,
    build_gem5,
    check_dnnmark,
    existing_dnnmark,
    existing_gem5,
    fetch_source,
    read_record,
    resolve_image,
    unchanged_gem5,
    use_checkout,
    write_record,
)
from apuflow.toolset import Needs, ObjectOrder, Toolset, kernel_directory


def container(tools: Toolset) -> Engine:
    """The site's container engine, able to run jobs now. EngineError with the fix when it is not."""
    engine = get_engine(tools.site.engine, tools.site.socket)
    engine.check()
    return engine


def image(tools: Toolset, out: Path, log: Path) -> None:
    """Stage ``image``: make sure that it is there and record exactly which."""
    release, site, mode = tools.release, tools.site, tools.image_mode
    context = None
    name = site.image.name or release.image.pull
    if mode == "debian":
        context = tools.root / release.image.debian
        name = site.image.name or "apuflow/gcn-gpu-debian"
    elif mode == "build":
        source = read_record(tools.root / tools.record("source-gem5"), SourceRecord)
        context = Path(source.path) / release.image.build
        name = site.image.name or f"apuflow/gcn-gpu:{release.name}"
    record = resolve_image(
        container(tools),
        mode,
        name=name,
        context=context,
        digest=site.image.digest,
        directory=tools.root / paths.image_dir(),
        log=log,
    )
    write_record(out, record)


def source(tools: Toolset, repository: str, out: Path) -> None:
    """Stage ``source``: gem5, gem5-resources or MIOpen at the release's commit, or the site's checkout."""
    site, release = tools.site, tools.release
    given, allow_dirty, pinned, mirror = {
        "gem5": (site.gem5.source, site.gem5.allow_dirty, release.gem5, site.mirrors.gem5),
        "resources": (
            site.dnnmark.source,
            site.dnnmark.allow_dirty,
            release.resources,
            site.mirrors.gem5_resources,
        ),
        "miopen": (None, False, release.miopen.source, site.mirrors.miopen),
    }[repository]
    if given is not None:
        record = use_checkout(tools.root / given, allow_dirty=allow_dirty)
    else:
        place = tools.root / paths.source_dir(repository, pinned.commit)
        record = fetch_source(pinned.url, pinned.commit, place.resolve(), mirror=mirror)
    write_record(out, record)


def gem5(tools: Toolset, target: str | None, out: Path, log: Path, jobs: int) -> None:
    """Stage ``gem5``: build it, or record the site's own (``target`` None)."""
    checkout = read_record(tools.root / tools.record("source-gem5"), SourceRecord)
    if target is None:
        assert tools.site.gem5.binary is not None
        record = existing_gem5(tools.root / tools.site.gem5.binary, checkout)
    else:
        record = build_gem5(
            checkout,
            target,
            arguments=tools.site.gem5.scons,
            jobs=jobs,
            container=container(tools),
            image=tools.image.reference,
            project=tools.root.resolve(),
            log=log,
        )
    write_record(out, record)


def dnnmark(tools: Toolset, out: Path, log: Path, jobs: int) -> None:
    """Stage ``dnnmark``: build it in the image, or record the site's own build."""
    if tools.site.dnnmark.build is not None:
        record = existing_dnnmark(tools.root / tools.site.dnnmark.build)
    else:
        record = build_dnnmark(
            read_record(tools.root / tools.record("source-resources"), SourceRecord),
            jobs=jobs,
            container=container(tools),
            image=tools.image.reference,
            project=tools.root.resolve(),
            log=log,
        )
    write_record(out, record)


def compile_kernel(order: ObjectOrder, out: Path, root: Path = Path()) -> None:
    """Stage ``kernel_object``: one object, on this machine or with the image's clang-ocl."""
    tools = Toolset(order.release, root)
    compiler = tools.compiler(order.engine)
    kernels = kernel_directory(order.program, tools.kernels)
    run = _in_image(tools, kernels) if compiler.command[0] == CLANG_OCL else run_on_host
    compile_object(order.row, order.gfx, compiler, kernels, out, run=run)


def _in_image(tools: Toolset, kernels: Path) -> Runner:
    engine, project = container(tools), tools.root.resolve()

    def run(command: Sequence[str], directory: Path, log: Path) -> int:
        job = Job(
            command=tuple(command),
            cwd=directory,
            home=directory / "home",
            log=log,
            labels=Labels.here(project, "kernel"),
            image=tools.image.reference,
            mounts=(Mount(directory, writable=True), Mount(kernels.resolve())),
        )
        return engine.run(job).code

    return run


def run_point(
    tools: Toolset, sweep: Sweep, point: Point, needs: Needs, *, memory_mb: int | None
) -> RunRecord:
    """Stage ``simulate``: one point, to its proven end.

    Args:
        needs: what Toolset.needs() says of the point; all of it exists.
        memory_mb: the run is ended above this; None: no limit.

    Raises:
        RunFailed: the run proved nothing (strict sweeps), or was interrupted.
        EngineError: gem5 or DNNMark are not what their records say.
    """
    root = tools.root.resolve()
    run_dir = root / paths.run_dir(point.engine, point.workload, point.id)
    recorded = root / needs.tools[0]
    installed = unchanged_gem5(read_record(recorded, Gem5Record), recorded)
    data = root / needs.data if needs.data else None
    process, launches, inputs, provenance = _guest(tools, point, needs, run_dir, installed, data)
    memory = size_bytes(tools.site.memory) if tools.site.memory else (memory_mb or 0) << 20
    record = simulate(
        Simulation(
            project=root,
            run_dir=run_dir,
            asked=workloads.asked(point),
            gem5=workloads.installed(installed, tools.release),
            processes=(process,),
            container=container(tools),
            image=tools.image.reference,
            mounts=workloads.mounts(installed, inputs),
            limits=Limits(memory_bytes=memory or None, wall_seconds=sweep.limits.wall_seconds),
            compress=tools.site.compress,
            on_failure=sweep.on_failure,
            provenance=provenance,
            launches=launches,
        )
    )
    return record


def _guest(
    tools: Toolset, point: Point, needs: Needs, run_dir: Path, installed: Gem5Record, data: Path | None
) -> tuple[Process, tuple[Launch, ...], tuple[Path, ...], Provenance]:
    root = tools.root.resolve()
    if point.engine == "gem5-kernels":
        refuse_redirected(run_dir)
        found = kernels_engine.point_launches(point.config_text, point.direction, point.options)
        by_row = {(item.row.program, item.row.arguments): item.path(root) for item in needs.objects}
        rows = dict.fromkeys(kernel_source(launch) for launch in found)
        run = kernels_engine.kernel_run(
            found,
            gfx=point.gfx,
            options=dict(point.options),
            launcher=root / (needs.launcher or ""),
            objects={row: by_row[row.program, row.arguments] for row in rows},
            data=data,
            release_dumps=tools.release.capabilities.per_kernel_statistics,
        )
        provenance = workloads.provenance(point, installed, tools.image, data=data)
        return run.processes[0], run.launches, run.inputs, provenance
    loaded = load_workload(point.workload, tools.root)
    if loaded.command is not None:
        process = workloads.command_process(point, tools.release, loaded.command, project=root)
        return process, (), (process.guest.directory,), workloads.provenance(point, installed, tools.image)
    built = read_record(root / tools.record("dnnmark"), DnnmarkRecord)
    check_dnnmark(built, point.program.removeprefix("dnnmark_"), root / tools.record("dnnmark"))
    database = root / needs.database.path if needs.database else None
    if data is None:
        raise EngineError("a DNNMark run needs its data file", value=point.id)
    process = workloads.dnnmark_process(
        point, tools.release, built, run_dir=run_dir, database=database, data=data
    )
    provenance = workloads.provenance(
        point, installed, tools.image, build=built, database=database, data=data
    )
    inputs = (Path(built.build), data, *([database] if database else []))
    return process, tuple(workloads.kernel_launches(point)), inputs, provenance
