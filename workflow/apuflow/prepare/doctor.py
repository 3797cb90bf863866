"""What this machine has and lacks for each use, and the check before an expensive stage."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from apuflow.configure import Release, Site
from apuflow.configure.products import on_gem5
from apuflow.containers.found import container_engine
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.git import git
from apuflow.core.gpus import GPUS
from apuflow.core.host import home, user_cache
from apuflow.miopen.compiler import host_compiler
from apuflow.prepare.builds import allocates_slowly, existing_dnnmark, existing_gem5, links, starts
from apuflow.prepare.images import look_for_image, sources_to_try
from apuflow.prepare.recipes import cost, read_done, read_recipe
from apuflow.prepare.requests import gem5_build, request
from apuflow.prepare.sources import MIRROR, gem5_patches, origin, read_patches, use_checkout
from apuflow.run.command import refuse_redirected

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
_NETWORK_SECONDS = 15.0
_LINKED = "apt install libgoogle-perftools-dev before gem5 is built"
_PRELOADED = "apt install libtcmalloc-minimal4; export LD_PRELOAD=libtcmalloc_minimal.so.4 before snakemake"


class Use(StrEnum):
    """Uses of this machine: the engines, with engine gem5 by kind of program."""

    PREVIEW = "preview"
    KERNELS = "gem5-kernels"
    DNNMARK = "gem5"
    PROGRAM = "command"


Uses: TypeAlias = tuple[Use, ...]
SIMULATING: Uses = (Use.KERNELS, Use.DNNMARK, Use.PROGRAM)
_COMPILING: Uses = (Use.DNNMARK, Use.KERNELS)


class State(StrEnum):
    """Result of a check: ok, a remark, or a missing requirement."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """A requirement of uses of this machine, and what to do if it is not ok."""

    name: str
    state: State
    detail: str
    uses: Uses
    fix: str | None = None


def examine(site: Site, release: Release, project: Path, *, network: bool = True) -> list[Check]:
    """Run all checks that need no expensive start; ``network``: ask source repositories and registries."""
    machine = _Machine(site.of(release.name), release, project, network)
    container = _attempt("container engine", SIMULATING, machine.container)
    groups: tuple[Callable[[], Iterable[Check]], ...] = (
        lambda: [_attempt("Python packages", tuple(Use), lambda: "installed")],
        lambda: [_attempt("home", tuple(Use), _home)],
        lambda: [_attempt("place of runs", SIMULATING, machine.place)],
        lambda: [container],
        machine.gem5,
        machine.dnnmark,
        lambda: [_attempt("compiler for GPU kernels", _COMPILING, _clang)],
        _later_clang,
        machine.kernel_sources,
        machine.library,
        lambda: [_attempt("C compiler for the launcher", (Use.KERNELS,), _c_compiler)],
        lambda: machine.image(ask=network and container.state is State.OK),
        machine.resources,
    )
    with ThreadPoolExecutor(len(groups)) as pool:  # most of them wait for the network
        found = list(pool.map(lambda group: list(group()), groups))
    checks: dict[str, Check] = {}
    for check in chain.from_iterable(found):
        checks.setdefault(check.name, check)
    return list(checks.values())


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

    Raises EngineError with all missing requirements, their fixes, and the preview's command for the target,
    a file of results/ without its sweep.
    """
    lacking = missing(examine(site, release, project, network=False), use)
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


def _attempt(name: str, uses: Uses, check: Callable[[], str]) -> Check:
    """Run a check that returns its finding or raises ApuflowError."""
    try:
        return Check(name, State.OK, check(), uses)
    except ApuflowError as error:
        detail = error.message if error.file is None else f"{error.message} ({error.file})"
        return Check(name, State.MISSING, detail, uses, error.remedy)


def _checked(
    name: str, uses: Uses, good: bool, detail: str, fix: str, otherwise: State = State.MISSING
) -> Check:
    return Check(name, State.OK if good else otherwise, detail, uses, None if good else fix)


def _program(name: str, uses: Uses, fix: str) -> Check:
    path = shutil.which(name)
    return _checked(name, uses, path is not None, path or "not found", fix)


@dataclass(frozen=True)
class _Machine:
    """This machine for a site, and whether source repositories may be contacted."""

    site: Site
    release: Release
    project: Path
    network: bool

    def container(self) -> str:
        """The container engine. Raises EngineError if it does not answer."""
        site = self.site
        if site.container is None:
            site.found_engine.check()
        container_engine(site.container_engine, site.socket, _ANSWER_SECONDS).check()
        if site.container is None:
            return f"{site.found_engine}; `container` in configs/site.yaml names another"
        if site.container == "host":
            return "none (container: host): tools of this machine are used"
        return f"{site.container} answers"

    def place(self) -> str:
        """The directory of runs. Raises EngineError if gem5's guest cannot read it."""
        runs = (self.project / paths.RUNS).resolve()
        refuse_redirected(runs)
        return str(runs)

    def gem5(self) -> Iterator[Check]:
        """gem5, or what it is built from."""
        if self.site.gem5.binary is not None:
            own = _attempt("gem5 (yours)", SIMULATING, self._own_gem5)
            yield own
            if own.state is State.OK and self.site.container_engine == "host":
                yield _allocator(allocates_slowly(Path(self.site.gem5.binary)), _PRELOADED)
            return
        yield from self._sources("gem5", "gem5 sources", SIMULATING)
        if patches := gem5_patches(self.release, self.site):
            read = partial(read_patches, patches, self.project)
            yield _attempt("gem5 patches", SIMULATING, lambda: ", ".join(map(str, read())))
        if self.site.container_engine == "host":
            packages = "apt install scons g++ m4 python3-dev zlib1g-dev libprotobuf-dev"
            yield _program("scons", SIMULATING, packages)
            compiler = _program("g++", SIMULATING, "apt install g++")
            yield compiler
            if compiler.state is State.OK and gem5_build(self.release, self.site).allocator == "tcmalloc":
                # gem5 is not there yet: any program tells what LD_PRELOAD gives it.
                slow = allocates_slowly(Path(sys.executable)) and not links("tcmalloc_minimal", "tcmalloc")
                yield _allocator(slow, _LINKED)

    def _own_gem5(self) -> str:
        gem5 = self.site.gem5
        source = use_checkout(Path(gem5.source or ""), allow_dirty=gem5.allow_dirty)
        record = existing_gem5(Path(gem5.binary or ""), source)
        if self.site.container_engine == "host" and (problem := starts(Path(record.binary))) is not None:
            raise EngineError(
                f"gem5 does not start on this machine: {problem}",
                file=record.binary,
                remedy="install the libraries that it names (`ldd` lists them), or run it in its container "
                "image",
            )
        return f"{record.binary}, sha256 {record.sha256[:12]}"

    def dnnmark(self) -> Iterator[Check]:
        """DNNMark, or what it is built from."""
        uses = (Use.DNNMARK,)
        if self.site.dnnmark.build is not None:
            build = Path(self.site.dnnmark.build)
            programs = "DNNMark (yours)"
            yield _attempt(programs, uses, lambda: f"{len(existing_dnnmark(build).programs) - 1} programs")
            return
        yield from self._sources("resources", "DNNMark sources", uses)
        if self.site.container_engine == "host":
            hipcc = Path("/opt/rocm/bin/hipcc")
            detail = str(hipcc) if hipcc.exists() else f"DNNMark's setup.sh needs {hipcc}"
            fix = "use a container engine, or name a finished build as dnnmark.build in configs/site.yaml"
            yield _checked("hipcc", uses, hipcc.exists(), detail, fix)

    def kernel_sources(self) -> Iterator[Check]:
        """MIOpen's sources, from which kernels are compiled."""
        uses = (Use.KERNELS, Use.DNNMARK)
        if self.site.miopen_source is None:
            yield from self._sources("miopen", "MIOpen sources", uses)
        else:
            yield _directory("MIOpen sources", uses, str(self.project / self.site.miopen_source))

    def library(self) -> Iterator[Check]:
        """The sources of rocBLAS' own kernels, if they run."""
        wanted = {
            Use.KERNELS: on_gem5(self.site).products == "rocblas",
            Use.DNNMARK: self.site.image.rocblas_kernels == "changed",
        }
        uses = tuple(use for use, runs in wanted.items() if runs)
        if not uses:
            return
        for name in ("rocBLAS", "Tensile"):
            found = origin(name.lower(), self.release, self.site)
            if found.checkout is None:
                yield from self._sources(name.lower(), f"{name} sources", uses)
            else:
                check = partial(_checkout, self.project / found.checkout, found.commit)
                yield _attempt(f"{name} sources", uses, check)

    def _sources(self, repository: str, name: str, uses: Uses) -> Iterator[Check]:
        """Whether sources exist or can be fetched."""
        found = origin(repository, self.release, self.site)
        if found.checkout is not None:
            yield _directory(name, uses, found.checkout)
            return
        tool = _program("git", _COMPILING, "apt install git")
        yield tool
        if tool.state is not State.OK:
            return
        made, address = self.project / paths.source_dir(repository, found.commit), found.address
        good, detail = True, f"in {made}" if made.is_dir() else f"from {address}"
        if self.network and not made.is_dir() and not Path(address).is_dir():
            try:
                git(Path(), "ls-remote", "--exit-code", "--", address, "HEAD", timeout=_NETWORK_SECONDS)
                detail = f"{address} answers"
            except EngineError as error:
                good, detail = False, f"{address} does not answer: {error.message}"
        yield _checked(name, uses, good, detail, f"check the network, or {MIRROR}")

    def image(self, *, ask: bool) -> Iterator[Check]:
        """The image that would be used; for a recipe with the remaining stages. ``ask``: the registry."""
        site, release, project = self.site, self.release, self.project
        if site.container_engine == "host":
            return
        if ask:
            sources = sources_to_try(site, release, project)
            engine = container_engine(site.container_engine, site.socket, _ANSWER_SECONDS)
            yield _attempt("image", SIMULATING, lambda: look_for_image(engine, sources))
        recipe, base = site.image.recipe, site.image.base
        if recipe is None:
            return
        note = project / paths.image_stages(request("image", release, site, project))

        def stages() -> str:
            return f"{recipe}: {cost(read_recipe(project / recipe), read_done(note))}"

        yield _attempt("image recipe", SIMULATING, stages)
        if base is not None and not set(base) & set(":/"):
            fix = "apt install debootstrap, or name an image as image.base (debian:suite)"
            yield _program("debootstrap", SIMULATING, fix)

    def resources(self) -> Iterator[Check]:
        """Disk, memory and cores."""
        builds = 0 if self.site.gem5.binary is not None else BUILD_BYTES
        wanted = RUN_BYTES + builds + self._image_bytes()
        free = shutil.disk_usage(self.project).free
        detail = f"{free / GB:.0f} GB free at {self.project}, {wanted / GB:.0f} GB needed"
        fix = "free some, or make build and runs links to directories on another disk"
        lacking = State.MISSING if free < RUN_BYTES else State.WARNING
        yield _checked(
            "disk", SIMULATING, free >= wanted, f"{detail} for builds, images and runs", fix, lacking
        )
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        enough = memory >= BUILD_MEMORY or not builds
        fix = "building gem5 takes 2 GB per job: use fewer --cores"
        yield _checked("memory", SIMULATING, enough, f"{memory / GB:.0f} GB", fix, State.WARNING)
        cores = len(os.sched_getaffinity(0))
        yield Check("cores", State.OK, f"{cores}; each gem5 run uses one", SIMULATING)

    def _image_bytes(self) -> int:
        """Disk space for making the image."""
        image = self.site.image
        if self.site.container_engine == "host" or image.mode == "local":
            return 0
        if image.recipe is not None:
            with contextlib.suppress(ApuflowError):
                return read_recipe(self.project / image.recipe).disk_bytes or IMAGE_BYTES
        return IMAGE_BYTES


def _allocator(slow: bool, fix: str) -> Check:
    """Who allocates gem5's memory; measured on a product in fp16 on gfx942, with equal statistics."""
    detail = "the C library's: with tcmalloc matrix kernels take 30 % less time" if slow else "a fast one"
    return _checked("gem5's allocator", SIMULATING, not slow, detail, fix, State.WARNING)


def _directory(name: str, uses: Uses, directory: str) -> Check:
    fix = "correct the path in configs/site.yaml"
    return _checked(name, uses, Path(directory).is_dir(), directory, fix)


def _checkout(directory: Path, commit: str) -> str:
    return f"{use_checkout(directory, commit=commit).path}, {commit[:12]}"


def _home() -> str:
    """The home; Snakemake's cache, which every target needs, must be writable."""
    remedy = "export HOME=DIRECTORY, one that you may write to"
    own, cache = home(), user_cache()
    if own is None or cache is None:
        raise EngineError("HOME is not set, and the user has no passwd entry", remedy=remedy)
    there = next(place for place in (cache, *cache.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise EngineError(f"Snakemake cannot write its cache to {cache}", remedy=remedy)
    return str(own)


def _clang(gfx: str = "") -> str:
    return host_compiler(gfx=gfx).identity.splitlines()[0]


def _later_clang() -> Iterator[Check]:
    """The compiler of GPUs that need a newer one."""
    for gfx in (name for name, each in GPUS.items() if each.least_clang):
        name, uses = f"compiler for kernels of {gfx}", (Use.KERNELS,)
        found = _attempt(name, uses, partial(_clang, gfx))
        yield found if found.state is State.OK else replace(found, state=State.WARNING)


def _c_compiler() -> str:
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if path is None:
        raise EngineError("no C compiler", remedy="apt install gcc")
    return path
