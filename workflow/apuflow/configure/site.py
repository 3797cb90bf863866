"""What belongs to a machine or a user, not to an experiment: ``configs/site.yaml`` (optional, not committed).

Only what can change a result (a gem5 or DNNMark of one's own, the image) enters the identity of a point.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from apuflow.configure import yaml_source
from apuflow.configure.base import ListOf, Model, Name, Size, Text, ValueProblem, known_names, read
from apuflow.configure.gem5_build import Build
from apuflow.configure.image_source import Digest, ImageSources
from apuflow.containers.found import Found, find_engine
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.units import DURATION, duration_seconds
from apuflow.rocblas.tables import Products

_OWN_SCONS = ("--jobs", "--directory", "--file", "--clean", "--help", "--ignore-style")
ImageMode = Literal["build", "pull", "debian", "sources", "local"]


class Gem5Build(Model):
    """A gem5 of one's own instead of the release's: it is used as it is."""

    binary: Text | None = Field(None, description="path of a gem5.opt; skips the build")
    source: Text | None = Field(None, description="path of a gem5 checkout; with binary: where configs/ is")
    allow_dirty: bool = Field(False, description="take a checkout with uncommitted changes, and record it")
    scons: ListOf[Text] = Field((), description="more arguments for scons, such as --linker=gold")
    build: Build | None = Field(
        None, description="how gem5 is compiled, in place of what the release's file says"
    )
    patches: ListOf[Text] = Field((), description="patch files, applied after those of the release")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for argument in self.scons:
            if not re.match(r"--[a-z]|[A-Z][A-Z0-9_]*=", argument) or argument.startswith(_OWN_SCONS):
                raise ValueProblem(
                    f"the workflow gives scons this argument itself: {argument}",
                    key="scons",
                    remedy="name variables (NAME=value) and --options of gem5's SConstruct; "
                    "the goal, the jobs and the directory are the workflow's",
                )
        taken = [word for word in self.scons if re.match(r"(CC|LINK|LD)FLAGS_EXTRA=", word)]
        if self.build is not None and not self.build.default and taken:
            message = "build sets this variable of scons, too"
            remedy = "give flags of the compiler as build.flags"
            raise ValueProblem(message, key="scons", value=taken[0], remedy=remedy)
        if self.binary is None:
            return self
        for key in ("scons", "patches", "build"):
            if getattr(self, key):
                message = f"{key} has no part in a gem5 that is already built"
                raise ValueProblem(message, key=key, remedy=f"leave out either {key} or binary")
        if self.source is None:
            message = "a gem5 binary needs its source for configs/example/apu_se.py"
            remedy = "add source: the checkout that the binary was built from"
            raise ValueProblem(message, key="source", remedy=remedy)
        return self


class Dnnmark(Model):
    """A DNNMark of one's own."""

    build: Text | None = Field(None, description="path of a finished build directory (the one make ran in)")
    source: Text | None = Field(None, description="path of a gem5-resources checkout")
    allow_dirty: bool = Field(False, description="take a checkout with uncommitted changes, and record it")


class Image(Model):
    """Which container image the GPU programs and gem5 run in."""

    mode: ImageMode | None = Field(
        None,
        description="left out: the release's sources in order; build: gem5's Dockerfile with its repairs; "
        "pull: from a registry; debian: this project's, for kernels alone; sources: by a recipe; local: the "
        "image of `name`",
    )
    sources: ImageSources | None = Field(None, description="without mode: places that it may come from")
    name: Text | None = Field(None, description="image name, or path of an Apptainer file")
    digest: Digest | None = Field(
        None, description="take this content only; left out: images.lock.yaml keeps it"
    )
    recipe: Text | None = Field(
        None, description="mode sources: directory with a Dockerfile and maybe a recipe.yaml"
    )
    base: Text | None = Field(
        None, description="mode sources: the recipe's BASE, a Debian suite or an image's name with : or /"
    )
    arguments: dict[str, Text] = Field(
        default_factory=dict, description="mode sources: more build arguments of the recipe (its ARG)"
    )
    rocblas_kernels: Literal["own", "changed"] = Field(
        "own",
        description="engine gem5: own: as built in; changed: those of rocm-4.0.0, changed for gem5",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.mode == "sources" and self.recipe is None:
            remedy = "add recipe: with a directory that holds a Dockerfile"
            raise ValueProblem("mode sources needs a recipe", key="recipe", remedy=remedy)
        if self.sources is not None and (self.mode or self.name or self.digest):
            message = "sources says already where the image comes from"
            remedy = "remove mode, name and digest; give a source its digest"
            raise ValueProblem(message, key="sources", remedy=remedy)
        for key in ("recipe", "base", "arguments"):
            if self.mode != "sources" and getattr(self, key):
                message = f"{key} has a meaning in mode sources alone"
                raise ValueProblem(message, key=key, remedy="add mode: sources")
        if self.mode == "local" and self.name is None:
            remedy = "add name: with the name of an image that this machine has"
            raise ValueProblem("mode local needs a name", key="name", remedy=remedy)
        return self


class Mirrors(Model):
    """Where to clone from instead of the release file's addresses: URLs or local directories."""

    gem5: Text | None = None
    gem5_resources: Text | None = None
    miopen: Text | None = Field(None, description="MIOpen at the release's tag; local checkout or URL")
    rocblas: Text | None = Field(None, description="rocBLAS with its tag rocm-4.0.0; local checkout or URL")
    tensile: Text | None = Field(None, description="Tensile with its tag rocm-4.0.0; local checkout or URL")
    image_sources: Text | None = Field(
        None, description="mode sources: the recipe's SOURCES, an address or a directory"
    )
    debian: Text | None = Field(
        None, description="Debian's archive, for debootstrap and the recipe's DEBIAN_MIRROR"
    )


class Site(Model):
    """The whole of ``configs/site.yaml``."""

    container: Literal["docker", "podman", "apptainer", "host"] | None = Field(
        None,
        description="docker, podman, apptainer, or host: the tools are on this machine; left out: the first "
        "that answers",
    )
    socket: Text | None = Field(None, description="address of the Docker or Podman socket")
    image: Image = Image()
    gem5: Gem5Build = Gem5Build()
    gem5_by_release: dict[Name, Gem5Build] = Field(
        default_factory=dict,
        description="another gem5 for these releases: {v23.0: {binary: ..., source: ...}}",
    )
    dnnmark: Dnnmark = Dnnmark()
    mirrors: Mirrors = Mirrors()
    miopen_source: Text | None = Field(None, description="MIOpen source tree for compiling kernels")
    products: Products | None = Field(
        None,
        description="rocblas or stand-in; left out: rocblas, but stand-in on gem5-kernels where only "
        "MIOpen's sources are named",
    )
    rocblas_source: Text | None = Field(None, description="rocBLAS checkout at rocm-4.0.0")
    tensile_source: Text | None = Field(None, description="Tensile checkout at rocm-4.0.0")
    memory: Size | None = Field(None, description="most memory that one run may use, for example 16GB")
    batch: Annotated[str, StringConstraints(pattern=DURATION)] = Field(
        "30m",
        description="on a cluster, short points share jobs of about this time; 0s: a job for each point",
    )
    shared_start: bool = Field(
        False,
        description="runs of gem5-kernels on one machine are forks of one gem5; needs `container: host` and "
        "twice the memory",
    )
    quick_statistics: bool = Field(
        True, description="gem5 keeps its lists of statistics between blocks: the same text in half the time"
    )
    compress: Literal["none", "gz", "zst"] = Field(
        "none", description="compress the statistics of a proven run"
    )

    @model_validator(mode="after")
    def _shares_on_the_host(self) -> Self:
        if self.shared_start and self.container != "host":
            message = "a gem5 that has started can be shared outside of containers alone"
            remedy = "add container: host, or remove shared_start"
            raise ValueProblem(message, key="shared_start", remedy=remedy)
        return self

    @property
    def container_engine(self) -> str:
        """What runs containers: as ``container`` says, else what is found here, once per command."""
        return self.container or self.found_engine.name

    @property
    def found_engine(self) -> Found:
        """What is found here where ``container`` says nothing."""
        return find_engine(self.socket, any(gem5.binary is not None for gem5 in self.gem5_builds))

    @property
    def gem5_builds(self) -> tuple[Gem5Build, ...]:
        """Every gem5 that it names."""
        return (self.gem5, *self.gem5_by_release.values())

    def of(self, release: str) -> Self:
        """What it says for one release: ``gem5`` is the one that this release runs on."""
        return self.model_copy(update={"gem5": self.gem5_by_release.get(release, self.gem5)})

    def with_products(self, products: Products | None) -> Self:
        """The site, where a sweep says whose kernels compute products; None: the sweep says nothing."""
        return self if products is None else self.model_copy(update={"products": products})

    @property
    def batch_seconds(self) -> float:
        """``batch`` in seconds."""
        return duration_seconds(self.batch)


def load_site(root: Path) -> Site:
    """``configs/site.yaml``, or the defaults; ConfigError for a mistake or an unknown release.

    The key ``container`` was once ``engine``: that is read as well, with a hint on standard error.
    """
    path = root / "configs/site.yaml"
    if not path.exists():
        return Site()
    document = yaml_source.load(path)
    if "engine" in document.data and "container" not in document.data:
        _hint(document.where(("engine",)))
        document = document.renamed("engine", "container")
    site = read(document, Site)
    known = sorted(file.stem for file in (root / paths.release_file("any")).parent.glob("*.yaml"))
    for name in site.gem5_by_release:
        if name not in known:
            key, remedy = "gem5_by_release", known_names(name, known)
            file = document.where((key, name))
            raise ConfigError("unknown gem5 release", file=file, key=key, value=name, remedy=remedy)
    return site


@cache
def _hint(place: str) -> None:
    """Say once where the old key stands."""
    print(f"apuflow: {place}: the key `engine` is called `container` now; both are read", file=sys.stderr)
