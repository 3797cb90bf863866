"""The rules of toolchain and inputs as functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from apuflow.configure.image_source import ImageSource
from apuflow.configure.products import WITHOUT
from apuflow.containers.found import container_engine
from apuflow.containers.job import ContainerEngine, Job, Mount
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.owner import Labels
from apuflow.kernels.sources import compile_own, is_own
from apuflow.launcher.plan import source_directory
from apuflow.miopen.compiler import CLANG_OCL, Runner, run_on_host
from apuflow.miopen.objects import compile_object
from apuflow.prepare.builds import build_dnnmark, build_gem5, existing_dnnmark, existing_gem5
from apuflow.prepare.images import ImagePlan, first_image, lock
from apuflow.prepare.recipes import DockerfileBuild
from apuflow.prepare.records import read_record, write_record
from apuflow.prepare.requests import gem5_build
from apuflow.prepare.sources import (
    SourceRecord,
    fetch_source,
    gem5_patches,
    origin,
    patched_source,
    read_patches,
    use_checkout,
)
from apuflow.prepare.tools import ObjectOrder, Toolset
from apuflow.rocblas import objects as gemm_objects
from apuflow.rocblas.objects import Size, write_table
from apuflow.rocblas.tables import RELEASE


def container(tools: Toolset) -> ContainerEngine:
    """The site's container engine, checked. Prints a choice that was not configured, for the rule's log."""
    if tools.site.container is None:
        print(f"container engine: {tools.site.found_engine}")
        tools.site.found_engine.check()
    engine = container_engine(tools.site.container_engine, tools.site.socket)
    engine.check()
    return engine


def image(tools: Toolset, out: Path, log: Path, jobs: int | None = None) -> None:
    """Stage ``image``: get it, record it, and lock its source; ``jobs``: processors for a recipe's build."""
    plan = ImagePlan(
        tools.image_sources,
        log,
        tag=tools.site.image.name or f"apuflow/gcn-gpu:{tools.release.name}",
        dockerfile=lambda source: _dockerfile(tools, source),
        build=lambda recipe: tools.image_build(recipe, jobs),
        directory=tools.root / paths.image_dir(),
    )
    record, source = first_image(container(tools), plan)
    if source is not None:
        lock(tools.release.name, source, record.digest, tools.root)
    write_record(out, record)


def _dockerfile(tools: Toolset, source: ImageSource) -> DockerfileBuild:
    """Inputs of building a Dockerfile; clones its gem5 if it is not the one that runs."""
    release, site = tools.release, tools.site
    if source.commit is None:
        record = read_record(tools.root / tools.record("source-gem5"), SourceRecord)
    else:
        place = (tools.root / paths.source_dir("gem5", source.commit)).resolve()
        record = fetch_source(origin("gem5", release, site).address, source.commit, place)
    file = paths.release_file(release.name) if site.image.sources is None else "configs/site.yaml"
    return DockerfileBuild(
        Path(record.path),
        record.commit,
        source.repairs,
        tools.root / file,
        (site.image.sources or release.image.sources).index(source),
    )


def source(tools: Toolset, repository: str, out: Path) -> None:
    """Stage ``source``: a repository at its pinned commit, or the site's checkout.

    That of rocBLAS or Tensile must also be at the commit of apuflow's tables; if these are not available, the
    error's fix also names what runs without them.
    """
    found = origin(repository, tools.release, tools.site)
    is_library = repository in ("rocblas", "tensile")
    try:
        if found.checkout is not None:
            commit = found.commit if is_library else None
            record = use_checkout(tools.root / found.checkout, commit=commit, allow_dirty=found.allow_dirty)
        else:
            place = (tools.root / paths.source_dir(repository, found.commit)).resolve()
            record = fetch_source(found.address, found.commit, place)
    except EngineError as error:
        if is_library:
            error.remedy = (
                f"{error.remedy or 'read the message'}; or {repository}_source: a checkout at {RELEASE}; or "
                f"run without rocBLAS' kernels: {WITHOUT} (engine gem5: image.rocblas_kernels: own)"
            )
        raise
    write_record(out, record)


def gem5(tools: Toolset, target: str | None, out: Path, log: Path, jobs: int) -> None:
    """Stage ``gem5``: build it, or record the site's own (``target`` None)."""
    checkout = read_record(tools.root / tools.record("source-gem5"), SourceRecord)
    if target is None:
        assert tools.site.gem5.binary is not None
        record = existing_gem5(tools.root / tools.site.gem5.binary, checkout)
    else:
        patches = read_patches(gem5_patches(tools.release, tools.site), tools.root)
        if patches:
            checkout = patched_source(checkout, patches, tools.root / paths.SOURCES)
        build = gem5_build(tools.release, tools.site)
        if build.pgo is not None and tools.site.container_engine != "host":
            message = "gem5 writes its profile to its build directory, which a container does not permit"
            remedy = "container: host in configs/site.yaml, or build without pgo"
            raise ConfigError(message, key="gem5.build.pgo", value=build.pgo, remedy=remedy)
        record = build_gem5(
            checkout,
            target,
            build=build,
            linker_flags=tools.release.capabilities.linker_flags,
            arguments=tools.site.gem5.scons,
            patches=tuple(map(str, patches)),
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
    """Stage ``kernel_object``: an object, on this machine or with the image's clang-ocl."""
    tools = Toolset(order.release, root)
    if is_own(order.program):
        compile_own(order.row, order.gfx, out, root, tools.release.instruction_defects(order.gfx))
        return
    compiler = tools.launcher_compiler(order.gfx) if order.for_launcher else tools.compiler
    kernels = source_directory(order.program, tools.kernels)
    run = _in_image(tools, kernels) if compiler.command[0] == CLANG_OCL else run_on_host
    compile_object(order.row, order.gfx, compiler, kernels, out, run=run)


def write_gemm(order: ObjectOrder, out: Path, log: Path, root: Path = Path()) -> None:
    """Stage ``gemm_assembly``: a kernel of rocBLAS', by Tensile."""
    gemm_objects.write(order.program, *_gemm_sources(order.release, root), out, log)


def write_product_table(
    sizes: Sequence[Size], release: str, out: Path, log: Path, root: Path = Path()
) -> None:
    """Stage ``product_table``: rocBLAS' table of some sizes' kernels, by Tensile."""
    write_table(sizes, *_gemm_sources(release, root), out, log)


def _gemm_sources(release: str, root: Path) -> tuple[Path, Path]:
    """Checkouts of Tensile and rocBLAS."""
    records = Toolset(release, root).gemm_sources()
    tensile, rocblas = (Path(read_record(root / record, SourceRecord).path) for record in records)
    return tensile, rocblas


def assemble_gemm(order: ObjectOrder, out: Path, root: Path = Path()) -> None:
    """Stage ``gemm_object``: a kernel of rocBLAS', assembled on this machine with gem5's changes."""
    assembler = Toolset(order.release, root).assembler(for_launcher=order.for_launcher)
    assembly = root / gemm_objects.assembly_path(order.program)
    gemm_objects.assemble(order.row, order.gfx, assembler, assembly, out)


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
