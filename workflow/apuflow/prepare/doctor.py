"""What this machine has and lacks for each use, with the fix; and the check before an expensive stage."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from apuflow.configure import Release, Site
from apuflow.containers import container_engine
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.git import git
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

GB = 1 << 30
IMAGE_BYTES = 25 * GB
"""The gcn-gpu image as pulled and unpacked, or as built."""
BUILD_BYTES = 12 * GB
"""Sources and objects of gem5 and DNNMark."""
RUN_BYTES = 3 * GB
"""The data file and the statistics of some runs."""
BUILD_MEMORY = 8 * GB


class Use(StrEnum):
    """What this machine can be used for: the engines; engine gem5 by the kind of program that it runs."""

    PREVIEW = "preview"
    KERNELS = "gem5-kernels"
    DNNMARK = "gem5"
    PROGRAM = "command"


_SIMULATING = (Use.KERNELS, Use.DNNMARK, Use.PROGRAM)
_NETWORK_SECONDS = 15.0


class State(StrEnum):
    """What a check found: all is well, something to know, or something that its uses cannot do without."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """One thing that a use of this machine needs.

    Attributes:
        uses: which uses need it.
        fix: what to do when it is not ok.
    """

    name: str
    state: State
    detail: str
    uses: tuple[Use, ...]
    fix: str | None = None


def examine(site: Site, release: Release, project: Path, *, network: bool = True) -> list[Check]:
    """Everything that can be checked without starting anything expensive.

    Args:
        network: also ask the source repositories whether they answer.
    """
    site = site.of(release.name)
    checks = [
        _try("Python packages", tuple(Use), lambda: "installed"),
        _try("place of runs", _SIMULATING, lambda: _place(project)),
        _container(site),
        *_gem5(site, release, project, network),
        *_dnnmark(site, release, network),
        _kernel_compiler(),
        *_library(site, project, network),
        _try("C compiler for the launcher", (Use.KERNELS,), _c_compiler),
        *_image(site, release, project, network),
        *_resources(site, project),
    ]
    return [
        check for number, check in enumerate(checks) if check.name not in {c.name for c in checks[:number]}
    ]


def ready(checks: Sequence[Check], use: Use) -> bool:
    """Nothing that this use needs is missing."""
    return not any(check.state is State.MISSING and use in check.uses for check in checks)


def check_gem5_ready(
    site: Site, release: Release, project: Path, *, use: Use = Use.DNNMARK, target: str = "softmax_fwd.csv"
) -> None:
    """Stop before an expensive stage on a machine where it cannot work.

    Args:
        target: the wanted file of results/, without its sweep; the message names the command with which
            the preview makes it.

    Raises:
        EngineError: ONE message with everything that is missing, how to get it, and what runs here instead.
    """
    checks = examine(site, release, project, network=False)
    missing = [check for check in checks if check.state is State.MISSING and use in check.uses]
    if not missing:
        return
    lines = [f"{'gem5' if use == 'command' else use} cannot run on this machine:"]
    for number, check in enumerate(missing, 1):
        lines.append(f"  {number}. {check.name}: {check.detail}")
        if check.fix:
            lines.append(f"     fix: {check.fix}")
    raise EngineError(
        "\n".join(lines),
        remedy=f"`apuflow doctor` checks again. Without any of it, the preview engine runs here now: "
        f"snakemake --cores {os.cpu_count() or 1} results/quickstart/{target}",
    )


def _try(name: str, uses: tuple[Use, ...], check: Callable[[], str]) -> Check:
    """Run a check that returns what it found or raises ApuflowError."""
    try:
        return Check(name, State.OK, check(), uses)
    except ApuflowError as error:
        detail = error.message if error.file is None else f"{error.message} ({error.file})"
        return Check(name, State.MISSING, detail, uses, error.remedy)


def _place(project: Path) -> str:
    runs = (project / paths.RUNS).resolve()
    refuse_redirected(runs)
    return str(runs)


def _container(site: Site) -> Check:
    def check() -> str:
        if site.container is None:
            site.found_engine.check()
        container_engine(site.container_engine, site.socket).check()
        if site.container is None:
            return f"{site.found_engine}; `container` in configs/site.yaml names another"
        if site.container == "host":
            return "none (container: host): tools of this machine are used"
        return f"{site.container} answers"

    return _try("container engine", _SIMULATING, check)


def _gem5(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    if site.gem5.binary is not None:
        yield _try("gem5 (yours)", _SIMULATING, lambda: _own_gem5(site))
        return
    yield from _source(
        "gem5 sources", _SIMULATING, site.gem5.source, site.mirrors.gem5 or release.gem5.url, network
    )
    if patches := gem5_patches(release, site):
        yield _try("gem5 patches", _SIMULATING, lambda: ", ".join(map(str, read_patches(patches, project))))
    if site.container_engine == "host":
        yield _program(
            "scons", _SIMULATING, "apt install scons g++ m4 python3-dev zlib1g-dev libprotobuf-dev"
        )
        yield _program("g++", _SIMULATING, "apt install g++")


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


def _dnnmark(site: Site, release: Release, network: bool) -> Iterator[Check]:
    if site.dnnmark.build is not None:
        build = Path(site.dnnmark.build)
        yield _try(
            "DNNMark (yours)", (Use.DNNMARK,), lambda: f"{len(existing_dnnmark(build).programs) - 1} programs"
        )
        return
    address = site.mirrors.gem5_resources or release.resources.url
    yield from _source("DNNMark sources", (Use.DNNMARK,), site.dnnmark.source, address, network)
    if site.container_engine == "host":
        hipcc = Path("/opt/rocm/bin/hipcc")
        fix = "use a container engine, or name a finished build as dnnmark.build in configs/site.yaml"
        if hipcc.exists():
            yield Check("hipcc", State.OK, str(hipcc), (Use.DNNMARK,))
        else:
            yield Check("hipcc", State.MISSING, f"DNNMark's setup.sh needs {hipcc}", (Use.DNNMARK,), fix)


def _library(site: Site, project: Path, network: bool) -> Iterator[Check]:
    """What rocBLAS' own kernels are written from, where the site runs them."""
    uses = tuple(
        use
        for use, wanted in (
            (Use.KERNELS, site.products == "rocblas"),
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
            yield from _source(name, uses, None, address, network)
        else:
            yield _try(name, uses, partial(_checkout, project / own, commit))


def _checkout(directory: Path, commit: str) -> str:
    return f"{use_checkout(directory, commit=commit).path}, {commit[:12]}"


def _source(
    name: str, uses: tuple[Use, ...], directory: str | None, address: str, network: bool
) -> Iterator[Check]:
    if directory is not None:
        exists = Path(directory).is_dir()
        fix = None if exists else "correct the path in configs/site.yaml"
        yield Check(name, State.OK if exists else State.MISSING, directory, uses, fix)
        return
    program = _program("git", (Use.DNNMARK, Use.KERNELS), "apt install git")
    yield program
    if program.state is not State.OK:
        return
    if Path(address).is_dir() or not network:
        yield Check(name, State.OK, f"from {address}", uses)
        return
    problem = _unreachable(address)
    yield Check(
        name,
        State.OK if problem is None else State.MISSING,
        f"{address} answers" if problem is None else f"{address} does not answer: {problem}",
        uses,
        None
        if problem is None
        else "check the network, or name a local mirror under mirrors in configs/site.yaml",
    )


def _unreachable(address: str) -> str | None:
    try:
        git(Path(), "ls-remote", "--exit-code", "--", address, "HEAD", timeout=_NETWORK_SECONDS)
    except EngineError as error:
        return error.message
    return None


def _program(name: str, uses: tuple[Use, ...], fix: str) -> Check:
    path = shutil.which(name)
    return Check(name, State.OK if path else State.MISSING, path or "not found", uses, None if path else fix)


def _kernel_compiler() -> Check:
    from apuflow.miopen.compiler import host_compiler

    uses = (Use.DNNMARK, Use.KERNELS)
    return _try("compiler for GPU kernels", uses, lambda: host_compiler().identity.splitlines()[0])


def _c_compiler() -> str:
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if path is None:
        raise EngineError("no C compiler", remedy="apt install gcc")
    return path


def _image(site: Site, release: Release, project: Path, network: bool) -> Iterator[Check]:
    """Which image would be used; of one that is built from a recipe, what is left to build."""
    if site.container_engine == "host":
        return
    if network:
        sources = sources_to_try(site, release, project)
        engine = container_engine(site.container_engine, site.socket)
        yield _try("image", (Use.DNNMARK, Use.PROGRAM), lambda: look_for_image(engine, sources))
    recipe, base = site.image.recipe, site.image.base
    if recipe is None:
        return
    note = project / paths.image_stages(request("image", release, site, project))
    yield _try(
        "image recipe",
        _SIMULATING,
        lambda: f"{recipe}: {cost(read_recipe(project / recipe), read_done(note))}",
    )
    if base is not None and not set(base) & set(":/"):
        yield _program(
            "debootstrap",
            _SIMULATING,
            "apt install debootstrap, or name an image as image.base (debian:suite)",
        )


def _image_bytes(site: Site, project: Path) -> int:
    """Disk that the image takes when it is made."""
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
    yield Check("disk", state, detail, _SIMULATING, fix)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    enough = memory >= BUILD_MEMORY or not builds
    yield Check(
        "memory",
        State.OK if enough else State.WARNING,
        f"{memory / GB:.0f} GB",
        _SIMULATING,
        None if enough else "building gem5 takes 2 GB per job: use fewer --cores",
    )
    cores = len(os.sched_getaffinity(0))
    yield Check("cores", State.OK, f"{cores}; each gem5 run uses one", _SIMULATING)
