"""The tools of a release on this site: where each stands, and which of them a point needs to run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from apuflow import dnnmark
from apuflow.configure import Release, Site, identity, load_release, load_site
from apuflow.configure.points import Point
from apuflow.configure.site import ImageMode
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines import gem5_kernels as kernels_engine
from apuflow.launcher.gemm import PROGRAM as GEMM
from apuflow.launcher.program import sources_identity
from apuflow.miopen import Row, network_rows
from apuflow.miopen.compiler import Compiler, host_compiler, image_compiler
from apuflow.miopen.objects import KernelObject
from apuflow.miopen.prepare import DatabasePlan, directory_identity, plan_database
from apuflow.miopen.row_file import project_rows
from apuflow.prepare.data_file import file_bytes
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.records import read_record


@dataclass(frozen=True)
class Needs:
    """Files that must exist before a point can run, relative to the project's directory.

    Attributes:
        tools: records of image, gem5 and DNNMark.
        objects: kernel objects by the row they are compiled from.
        database: MIOpen's kernel database made of them; None where the runtime has no part.
        data: the file of floats that tensors are filled from.
        launcher: the program that dispatches kernels without a runtime.
    """

    tools: tuple[str, ...]
    objects: tuple[KernelObject, ...] = ()
    database: DatabasePlan | None = None
    data: str | None = None
    launcher: str | None = None

    def inputs(self) -> dict[str, list[str]]:
        """As named inputs of a rule. A database stands for the objects in it."""
        objects = [] if self.database else [paths.kernel_object(o.gfx, o.name) for o in self.objects]
        return {
            "tools": list(self.tools),
            "objects": objects,
            "database": [self.database.path] if self.database else [],
            "data": [self.data] if self.data else [],
            "launcher": [self.launcher] if self.launcher else [],
        }


@dataclass(frozen=True)
class ObjectOrder:
    """One kernel object to compile, as plain values: what a job on another machine needs to know."""

    program: str
    arguments: str
    layer: str
    gfx: str
    name: str
    release: str
    engine: str

    @classmethod
    def of(cls, item: KernelObject, release: str, engine: str) -> ObjectOrder:
        row = item.row
        return cls(row.program, row.arguments, row.layer or "", item.gfx, item.name, release, engine)

    @property
    def row(self) -> Row:
        return Row(self.program, self.arguments, self.layer)


class Toolset:
    """Tools of one release.

    Args:
        release: its name.
        root: the project's directory.
    """

    def __init__(self, release: str, root: Path = Path()) -> None:
        self.root = root
        self.release: Release = load_release(release, root)
        self.site: Site = load_site(root)
        self.asked = cache(lambda tool: identity.asked(tool, self.release, self.site, root))

    def record(self, tool: str) -> str:
        """Path of a tool's record (see origin.asked)."""
        return paths.tool_record(self.release.name, tool, self.asked(tool))

    @cached_property
    def image(self) -> ImageRecord:
        """The image that stage ``image`` recorded."""
        return read_record(self.root / self.record("image"), ImageRecord)

    @property
    def image_mode(self) -> ImageMode:
        return self.site.image.mode or self.release.image.mode

    # sources ---------------------------------------------------------------------------------------------
    def gem5_tool(self, gfx: str) -> str:
        """Name of the gem5 that runs a GPU architecture: the site's own, or that of a build target."""
        return "gem5" if self.site.gem5.binary is not None else f"gem5-{self.release.build_target(gfx)}"

    @property
    def kernels(self) -> Path:
        """MIOpen's ``src/kernels``: the site's, or the checkout that stage ``sources`` makes."""
        if self.site.miopen_source is not None:
            given = (self.root / self.site.miopen_source).resolve()
            for candidate in (given / "src/kernels", given / "kernels", given):
                if (candidate / "MIOpenSoftmax.cl").is_file():
                    return candidate
            raise ConfigError(
                "MIOpen's kernel sources are not there",
                file="configs/site.yaml",
                key="miopen_source",
                value=str(self.site.miopen_source),
                remedy=f"name a MIOpen checkout at {self.release.miopen.version}, or leave the key out",
            )
        return self.root / paths.source_dir("miopen", self.release.miopen.source.commit) / "src/kernels"

    def kernel_sources(self) -> list[str]:
        """Record that has to be there before kernels are compiled."""
        return [] if self.site.miopen_source is not None else [self.record("source-miopen")]

    # compilers -------------------------------------------------------------------------------------------
    def compiler(self, engine: str) -> Compiler:
        """What compiles an engine's kernels: clang-ocl of the image for MIOpen itself, else clang here."""
        if engine == "gem5-kernels":
            return _host_compiler(4)
        image = self.image
        if image.engine == "host" or image.mode == "debian" or image.digest is None:
            return _host_compiler(3)
        return image_compiler(image.digest)

    # points ----------------------------------------------------------------------------------------------
    def needs(self, point: Point) -> Needs:
        """What has to exist before ``simulate`` can run a point.

        Raises:
            ConfigError: the point cannot run on this release or site.
            NotDerivable: a layer whose kernel key MIOpen's formulas do not give.
        """
        tools = (self.record(self.gem5_tool(point.gfx)), self.record("image"))
        if point.engine == "gem5-kernels":
            return self._kernel_needs(point, tools)
        if point.config_text is None or point.direction is None:
            return Needs(tools)
        network = dnnmark.parse(point.config_text)
        rows = network_rows(
            network, point.direction, int(point.options["num-compute-units"]), self.release.miopen.formulas
        )
        database = self._database(point, [*rows, *project_rows(self.root)]) if rows else None
        data = _data_file(dnnmark.mmap_bytes(network, point.direction))
        return Needs((*tools, self.record("dnnmark")), database.objects if database else (), database, data)

    def _database(self, point: Point, rows: tuple[Row, ...] | list[Row]) -> DatabasePlan:
        commit = self.release.miopen.source.commit
        return plan_database(
            rows,
            point.gfx,
            int(point.options["num-compute-units"]),
            release=self.release.name,
            compiler=self.compiler(point.engine).identity,
            sources=directory_identity(self.kernels) if self.site.miopen_source else commit,
        )

    def _kernel_needs(self, point: Point, tools: tuple[str, ...]) -> Needs:
        found = kernels_engine.point_launches(point.config_text, point.direction, point.options)
        sources = None if self.site.miopen_source else self.release.miopen.source.commit
        objects = kernels_engine.kernel_objects(
            found, point.gfx, self.compiler(point.engine), self.kernels, sources
        )
        read = [
            arg.elements * arg.element_bytes
            for launch in found
            for arg in launch.args
            if arg.kind == "buffer" and arg.role != "out"
        ]
        launcher = paths.launcher(sources_identity())
        return Needs(tools, tuple(objects.values()), None, _data_file(max(read, default=0)), launcher)


def kernel_directory(program: str, kernels: Path) -> Path:
    """Where a program's source stands: among MIOpen's kernels, or ours for the GEMM."""
    return GEMM.parent if program == GEMM.name else kernels


def _data_file(needed: int) -> str:
    """The smallest power of two of pages that holds ``needed`` bytes: points of like size share a file."""
    return paths.mmap_file(file_bytes(1 << max(0, needed - 1).bit_length()))


@cache
def _host_compiler(code_object: int) -> Compiler:
    return host_compiler(code_object=4 if code_object == 4 else 3)
