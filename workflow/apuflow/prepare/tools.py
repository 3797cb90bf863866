"""Paths of a release's tools on this site, and inputs of the rules that make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from apuflow.configure import Release, Site, load_release, load_site, load_workload
from apuflow.configure.image_source import ImageSource
from apuflow.configure.products import refuse_missing_checkouts
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.launcher.corrections import correcting
from apuflow.launcher.known import Known
from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler, assembler, host_compiler, image_compiler
from apuflow.miopen.database import DatabasePlan, plan_database
from apuflow.miopen.launch import Launch
from apuflow.miopen.objects import KernelObject, kernel_object, sources_identity
from apuflow.prepare import requests
from apuflow.prepare.data_file import file_bytes
from apuflow.prepare.images import ImageRecord, check_recorded, sources_to_try
from apuflow.prepare.recipes import SourcesBuild, cost, read_done, read_recipe
from apuflow.prepare.records import read_record
from apuflow.rocblas.call import SCALE_SOURCE
from apuflow.rocblas.objects import ProductLibrary, is_library_kernel, library_object, table_sizes


@dataclass(frozen=True)
class ObjectOrder:
    """A kernel object to compile as plain values, for a job on another machine."""

    program: str
    arguments: str
    layer: str
    gfx: str
    name: str
    release: str
    for_launcher: bool

    @classmethod
    def of(cls, item: KernelObject, release: str, *, for_launcher: bool) -> ObjectOrder:
        """The order for an object that a release needs, loaded by the launcher or else by MIOpen."""
        row = item.row
        return cls(row.program, row.arguments, row.layer or "", item.gfx, item.name, release, for_launcher)

    @property
    def row(self) -> Row:
        """The object's row of MIOpen's kernel database."""
        return Row(self.program, self.arguments, self.layer)


class Toolset:
    """Tools of the release of a name, in the project's directory ``root``."""

    def __init__(self, release: str, root: Path = Path()) -> None:
        self.root = root
        self.release: Release = load_release(release, root)
        self.site: Site = load_site(root).of(release)
        self.workload = cache(lambda name: load_workload(name, root))
        self.request = cache(lambda tool: requests.request(tool, self.release, self.site, root))

    def record(self, tool: str) -> str:
        """Path of a tool's record (see requests.request)."""
        return paths.tool_record(self.release.name, tool, self.request(tool))

    @cached_property
    def image(self) -> ImageRecord:
        """The image of stage ``image``. Raises ConfigError if the lock fixes another one."""
        path = self.record("image")
        record = read_record(self.root / path, ImageRecord)
        check_recorded(self.release, self.site, record.digest, path, self.root)
        return record

    @cached_property
    def image_sources(self) -> tuple[ImageSource, ...]:
        """Sources of the image (see ``sources_to_try``)."""
        return sources_to_try(self.site, self.release, self.root)

    @property
    def built_from_recipe(self) -> str | None:
        """The recipe of the image; None if the first source is of another kind."""
        first = self.image_sources[0]
        return first.place if first.kind == "recipe" and self.site.container_engine != "host" else None

    def image_build(self, recipe: str, cores: int | None = None) -> SourcesBuild:
        """Inputs of building an image from a recipe's directory; ``cores`` of a stage: None is all."""
        image, mirrors = self.site.image, self.site.mirrors
        sources = mirrors.image_sources
        if sources is not None and (self.root / sources).is_dir():
            sources = str(self.root / sources)
        return SourcesBuild(
            read_recipe(self.root / recipe),
            self.root / paths.image_stages(self.request("image")),
            base=image.base,
            arguments=image.arguments,
            sources=sources,
            debian=mirrors.debian,
            cores=cores,
        )

    @property
    def image_threads(self) -> int:
        """All cores for a recipe's image; the engine builds or pulls others."""
        return 64 if self.built_from_recipe else 1

    @property
    def image_minutes(self) -> int:
        """Wall limit of making the image."""
        return 240 if all(source.kind in ("registry", "local") for source in self.image_sources) else 1440

    def image_cost(self) -> str | None:
        """Remaining stages of a recipe's image, as text; None for other sources."""
        recipe = self.built_from_recipe
        if recipe is None or (self.root / self.record("image")).exists():
            return None
        build = self.image_build(recipe)
        return f"container image from {recipe}: {cost(build.recipe, read_done(build.note))}"

    def gem5_tool(self, gfx: str) -> str:
        """Name of the gem5 of a GPU architecture: the site's, or that of a build target."""
        return "gem5" if self.site.gem5.binary is not None else f"gem5-{self.release.build_target(gfx)}"

    def inputs(self, tool: str, request: str) -> list[str]:
        """Records that a tool (see requests.request) is made from.

        Raises ConfigError if the configuration requests another version of it.
        """
        if self.request(tool) != request:
            raise ConfigError(
                "the configuration asks for another version of this tool than the target names",
                value=paths.tool_record(self.release.name, tool, request),
                remedy=f"name {self.record(tool)} instead, or a file of results/ that needs it",
            )
        if tool.startswith("source-"):
            return []
        if tool == "image":  # gem5's, if it may be built from a Dockerfile of the gem5 that runs
            named = any(source.is_of_the_gem5_that_runs for source in self.image_sources)
            sources = ["source-gem5"] if named and self.site.container_engine != "host" else []
        elif tool == "dnnmark":
            own = self.site.dnnmark.build is not None
            sources = ["image"] if own else ["source-resources", "image"]
        else:
            sources = ["source-gem5"] if tool == "gem5" else ["source-gem5", "image"]
        return [self.record(source) for source in sources]

    @property
    def kernels(self) -> Path:
        """MIOpen's ``src/kernels`` of the site or of stage ``sources``."""
        if self.site.miopen_source is not None:
            given = (self.root / self.site.miopen_source).resolve()
            for candidate in (given / "src/kernels", given / "kernels", given):
                if (candidate / "MIOpenSoftmax.cl").is_file():
                    return candidate
            remedy = f"name a MIOpen checkout at {self.release.miopen.version}, or leave the key out"
            raise ConfigError(
                "MIOpen's kernel sources are not there",
                file="configs/site.yaml",
                key="miopen_source",
                value=self.site.miopen_source,
                remedy=remedy,
            )
        return self.root / paths.source_dir("miopen", self.release.miopen.source.commit) / "src/kernels"

    def kernel_sources(self) -> list[str]:
        """Record that compiling kernels needs."""
        return [] if self.site.miopen_source is not None else [self.record("source-miopen")]

    def gemm_sources(self) -> list[str]:
        """Records that writing rocBLAS' kernels needs. Raises ConfigError without the site's checkout."""
        refuse_missing_checkouts(self.site, self.root)
        return [self.record("source-tensile"), self.record("source-rocblas")]

    def known(self, gfx: str) -> Known:
        """What is known of the instructions of this gem5."""
        return self.release.known(gfx, self.root)

    def launcher_compiler(self, gfx: str) -> Compiler:
        """Compiler of the launcher's kernels: clang with this gem5's corrections."""
        return correcting(cached_host_compiler(4), self.release.instruction_defects(gfx))

    @property
    def compiler(self) -> Compiler:
        """Compiler of MIOpen's kernels: clang-ocl of its image, or clang on this machine."""
        image = self.image
        if image.engine == "host" or image.kind == "recipe" or image.digest is None:
            return cached_host_compiler(3)
        return image_compiler(image.digest)

    def assembler(self, *, for_launcher: bool) -> Compiler:
        """Assembler of rocBLAS' kernels: clang on this machine."""
        return assembler(cached_host_compiler(4 if for_launcher else 3))

    def database(self, gfx: str, compute_units: int, rows: Sequence[Row]) -> DatabasePlan:
        """The kernel database of a program with these rows; ``compute_units``: the number that ROCm sees."""
        commit = self.release.miopen.source.commit
        return plan_database(
            rows,
            gfx,
            compute_units,
            release=self.release.name,
            compiler=self.compiler.identity,
            sources=self.kernels if self.site.miopen_source else commit,
        )

    def product_library(self, launches: Iterable[Launch], gfx: str) -> ProductLibrary:
        """The library directory with which the image's rocBLAS runs launches of ``library_launches``.

        Raises ConfigError if rocBLAS has no such kernel for a product.
        """
        launches, objects = tuple(launches), dict[str, KernelObject]()
        for launch in launches:
            row = Row(launch.program or "", "", launch.layer)
            if row.program in objects:
                continue
            if row.program == SCALE_SOURCE.name:
                sources = sources_identity(SCALE_SOURCE.parent, row.program)
                objects[row.program] = kernel_object(row, gfx, self.compiler.identity, sources)
            elif is_library_kernel(row.program):
                identity = self.assembler(for_launcher=False).identity
                objects[row.program] = library_object(row, gfx, identity)
        return ProductLibrary(table_sizes(launches, gfx), gfx, tuple(objects.values()))


def data_file(needed: int) -> str:
    """The smallest power of two of pages with ``needed`` bytes, so that similar points share a file."""
    return paths.mmap_file(file_bytes(1 << max(0, needed - 1).bit_length()))


@cache
def cached_host_compiler(code_object: Literal[3, 4]) -> Compiler:
    """clang of this machine, cached (see ``host_compiler``)."""
    return host_compiler(code_object=code_object)
