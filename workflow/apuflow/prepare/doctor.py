"""What this machine has and lacks for each use, and the check before an expensive stage."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from apuflow.configure import Release, Site
from apuflow.configure.products import on_gem5
from apuflow.containers import container_engine
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.prepare.checks import SIMULATING, Check, State, Use, attempt, program, source
from apuflow.prepare.dnnmark import existing_dnnmark
from apuflow.prepare.gem5 import existing_gem5, starts
from apuflow.prepare.image_choice import sources_to_try
from apuflow.prepare.images import look_for_image
from apuflow.prepare.patches import gem5_patches, read_patches
from apuflow.prepare.recipes import cost, read_done, read_recipe
from apuflow.prepare.requests import request
from apuflow.prepare.sources import use_checkout
from apuflow.rocblas.tables import ROCBLAS_COMMIT, ROCBLAS_URL, TENSILE_COMMIT, TENSILE_URL
from apuflow.run.command import refuse_redirected

__all__ = ["Check", "State", "Use", "check_gem5_ready", "examine", "missing", "ready"]

GB = 1 << 30
IMAGE_BYTES = 25 * GB
"""The gcn-gpu image, unpacked or built."""
BUILD_BYTES = 12 * GB
"""Sources and objects of gem5 and DNNMark."""
RUN_BYTES = 3 * GB
"""The data file and the statistics of some runs."""
BUILD_MEMORY = 8 * GB
_ANSWER_SECONDS = 10
"""Largest wait for a daemon that contacts a registry."""


def examine(site: Site, release: Release, project: Path, *, network: bool = True) -> list[Check]:
    """Run all checks that need no expensive start.

    Args:
        network: also contact source repositories and registries.
    """
    site = site.of(release.name)
    container = _container(site)
    answers = container.state is State.OK
    groups: tuple[Callable[[], Iterable[Check]], ...] = (
        lambda: [attempt("Python packages", tuple(Use), lambda: "installed")],
        lambda: [attempt("home", tuple(Use), _home)],
        lambda: [attempt("place of runs", SIMULATING, lambda: _place(project))],
        lambda: [container],
        lambda: _gem5(site, release, project, network),
        lambda: _dnnmark(site, release, project, network),
        lambda: [_kernel_compiler()],
        lambda: _kernel_sources(site, release, project, network),
        lambda: _library(site, project, network),
        lambda: [attempt("C compiler for the launcher", (Use.KERNELS,), _c_compiler)],
        lambda: _image(site, release, project, network and answers),
        lambda: _resources(site, project),
    )
    with ThreadPoolExecutor(len(groups)) as pool:  # most of them wait for the network
        checks = [check for found in pool.map(lambda group: list(group()), groups) for check in found]
    return [
        check for number, check in enumerate(checks) if check.name not in {c.name for c in checks[:number]}
    ]


def missing(checks: Sequence[Check], use: Use) -> list[Check]:
    """Requirements of a use that this machine lacks."""
    return [check for check in checks if check.state is State.MISSING and use in check.uses]


def ready(checks: Sequence[Check], use: Use) -> bool:
    """Whether no requirement of a use is missing."""
    return not missing(checks, use)


def check_gem5_ready(
    site: Site, release: Release, project: Path, *, use: Use = Use.DNNMARK, target: str = "softmax_fwd.csv"
) -> None:
    """Stop before an expensive stage that cannot work on this machine.

    Args:
        target: the requested file of results/, without its sweep; the message names the preview's command for
        it.

    Raises:
        EngineError: one message with all missing requirements, their fixes, and what runs instead.
    """
    checks = examine(site, release, project, network=False)
    lacking = missing(checks, use)
    if not lacking:
        return
    lines = [f"{'gem5' if use == 'command' else use} cannot run on this machine:"]
    for number, check in enumerate(lacking, 1):
        lines.append(f"  {number}. {check.name}: {check.detail}")
        if check.fix:
            lines.append(f"     fix: {check.fix}")
    raise EngineError(
        "\n".join(lines),
        remedy=f"`apuflow doctor` checks again. Without any of it, the preview engine runs here now: "
        f"snakemake --cores {os.cpu_count() or 1} results/quickstart/{target}",
    )


def _home() -> str:
    """Check the directory of Snakemake's cache, which every target needs."""
    remedy = "export HOME=DIRECTORY, one that you may write to"
    try:
        home = Path.home()
    except RuntimeError:
        raise EngineError("HOME is not set, and the user has no passwd entry", remedy=remedy) from None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    there = next(place for place in (cache, *cache.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise EngineError(f"Snakemake cannot write its cache to {cache}", remedy=remedy)
    return str(home)


def _place(project: Path) -> str:
    runs = (project / paths.RUNS).resolve()
    refuse_redirected(runs)
    return str(runs)


def _container(site: Site) -> Check:
    def check() -> str:
        if site.container is None:
            site.found_engine.check()
        container_engine(site.container_engine, site.socket, _ANSWER_SECONDS).check()
        if site.container is None:
            return f"{site.found_engine}; `container` in configs/site.yaml names another"
        if site.container == "host":
            return "none (container: host): tools of this machine are used"
        return f"{site.container} answers"

    return attempt("container engine", SIMULATING, check)


def _gem5(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    if site.gem5.binary is not None:
        yield attempt("gem5 (yours)", SIMULATING, lambda: _own_gem5(site))
        return
    address = site.mirrors.gem5 or release.gem5.url
    made = project / paths.source_dir("gem5", release.gem5.commit)
    yield from source("gem5 sources", SIMULATING, site.gem5.source, address, made, network=network)
    if patches := gem5_patches(release, site):
        yield attempt("gem5 patches", SIMULATING, lambda: ", ".join(map(str, read_patches(patches, project))))
    if site.container_engine == "host":
        yield program("scons", SIMULATING, "apt install scons g++ m4 python3-dev zlib1g-dev libprotobuf-dev")
        yield program("g++", SIMULATING, "apt install g++")


def _own_gem5(site: Site) -> str:
    source = use_checkout(Path(site.gem5.source or ""), allow_dirty=site.gem5.allow_dirty)
    record = existing_gem5(Path(site.gem5.binary or ""), source)
    if site.container_engine == "host" and (problem := starts(Path(record.binary))) is not None:
        raise EngineError(
            f"gem5 does not start on this machine: {problem}",
            file=record.binary,
            remedy="install the libraries that it names (`ldd` lists them), or run it in its container image",
        )
    return f"{record.binary}, sha256 {record.sha256[:12]}"


def _dnnmark(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    if site.dnnmark.build is not None:
        build = Path(site.dnnmark.build)
        yield attempt(
            "DNNMark (yours)", (Use.DNNMARK,), lambda: f"{len(existing_dnnmark(build).programs) - 1} programs"
        )
        return
    address = site.mirrors.gem5_resources or release.resources.url
    made = project / paths.source_dir("resources", release.resources.commit)
    yield from source("DNNMark sources", (Use.DNNMARK,), site.dnnmark.source, address, made, network=network)
    if site.container_engine == "host":
        hipcc = Path("/opt/rocm/bin/hipcc")
        fix = "use a container engine, or name a finished build as dnnmark.build in configs/site.yaml"
        if hipcc.exists():
            yield Check("hipcc", State.OK, str(hipcc), (Use.DNNMARK,))
        else:
            yield Check("hipcc", State.MISSING, f"DNNMark's setup.sh needs {hipcc}", (Use.DNNMARK,), fix)


def _kernel_sources(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    """Check MIOpen's sources, from which kernels are compiled."""
    own = None if site.miopen_source is None else str(project / site.miopen_source)
    address = site.mirrors.miopen or release.miopen.source.url
    made = project / paths.source_dir("miopen", release.miopen.source.commit)
    yield from source("MIOpen sources", (Use.KERNELS, Use.DNNMARK), own, address, made, network=network)


def _library(site: Site, project: Path, network: bool) -> Iterator[Check]:
    """Check the sources of rocBLAS' own kernels, if they run."""
    uses = tuple(
        use
        for use, wanted in (
            (Use.KERNELS, on_gem5(site).products == "rocblas"),
            (Use.DNNMARK, site.image.rocblas_kernels == "changed"),
        )
        if wanted
    )
    if not uses:
        return
    for name, own, address, commit in (
        ("rocBLAS sources", site.rocblas_source, site.mirrors.rocblas or ROCBLAS_URL, ROCBLAS_COMMIT),
        ("Tensile sources", site.tensile_source, site.mirrors.tensile or TENSILE_URL, TENSILE_COMMIT),
    ):
        if own is None:
            made = project / paths.source_dir(name.partition(" ")[0].lower(), commit)
            yield from source(name, uses, None, address, made, network=network)
        else:
            yield attempt(name, uses, partial(_checkout, project / own, commit))


def _checkout(directory: Path, commit: str) -> str:
    return f"{use_checkout(directory, commit=commit).path}, {commit[:12]}"


def _kernel_compiler() -> Check:
    from apuflow.miopen.compiler import host_compiler

    uses = (Use.DNNMARK, Use.KERNELS)
    return attempt("compiler for GPU kernels", uses, lambda: host_compiler().identity.splitlines()[0])


def _c_compiler() -> str:
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if path is None:
        raise EngineError("no C compiler", remedy="apt install gcc")
    return path


def _image(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    """The image that would be used; for a recipe with the remaining stages."""
    if site.container_engine == "host":
        return
    if network:
        sources = sources_to_try(site, release, project)
        engine = container_engine(site.container_engine, site.socket, _ANSWER_SECONDS)
        yield attempt("image", SIMULATING, lambda: look_for_image(engine, sources))
    recipe, base = site.image.recipe, site.image.base
    if recipe is None:
        return
    note = project / paths.image_stages(request("image", release, site, project))
    yield attempt(
        "image recipe",
        SIMULATING,
        lambda: f"{recipe}: {cost(read_recipe(project / recipe), read_done(note))}",
    )
    if base is not None and not set(base) & set(":/"):
        yield program(
            "debootstrap",
            SIMULATING,
            "apt install debootstrap, or name an image as image.base (debian:suite)",
        )


def _image_bytes(site: Site, project: Path) -> int:
    """Disk space for making the image."""
    if site.container_engine == "host" or site.image.mode == "local":
        return 0
    if site.image.recipe is not None:
        with contextlib.suppress(ApuflowError):
            return read_recipe(project / site.image.recipe).disk_bytes or IMAGE_BYTES
    return IMAGE_BYTES


def _resources(site: Site, project: Path) -> Iterator[Check]:
    builds = 0 if site.gem5.binary is not None else BUILD_BYTES
    wanted = RUN_BYTES + builds + _image_bytes(site, project)
    free = shutil.disk_usage(project).free
    state = State.OK if free >= wanted else State.MISSING if free < RUN_BYTES else State.WARNING
    detail = f"{free / GB:.0f} GB free at {project}, {wanted / GB:.0f} GB needed for builds, images and runs"
    fix = (
        None
        if state is State.OK
        else "free some, or make build and runs links to directories on another disk"
    )
    yield Check("disk", state, detail, SIMULATING, fix)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    enough = memory >= BUILD_MEMORY or not builds
    yield Check(
        "memory",
        State.OK if enough else State.WARNING,
        f"{memory / GB:.0f} GB",
        SIMULATING,
        None if enough else "building gem5 takes 2 GB per job: use fewer --cores",
    )
    cores = len(os.sched_getaffinity(0))
    yield Check("cores", State.OK, f"{cores}; each gem5 run uses one", SIMULATING)
