"""The expensive stages as plain functions: what each rule of the toolchain and the inputs does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from apuflow.containers import ContainerEngine, Job, Labels, Mount, container_engine
from apuflow.core import paths
from apuflow.miopen.compiler import CLANG_OCL, Runner, run_on_host
from apuflow.miopen.objects import compile_object
from apuflow.prepare.dnnmark import build_dnnmark, existing_dnnmark
from apuflow.prepare.gem5 import build_gem5, existing_gem5
from apuflow.prepare.images import resolve_image
from apuflow.prepare.records import read_record, write_record
from apuflow.prepare.sources import SourceRecord, fetch_source, use_checkout
from apuflow.prepare.tools import ObjectOrder, Toolset, kernel_directory


def container(tools: Toolset) -> ContainerEngine:
    """The site's container engine, able to run jobs now. EngineError with the fix when it is not."""
    engine = container_engine(tools.site.container, tools.site.socket)
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
    compiler = tools.compiler(for_launcher=order.for_launcher)
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
