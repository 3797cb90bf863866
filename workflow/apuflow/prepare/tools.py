"""The tools of a release on this site: where each stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from apuflow.configure import Release, Site, load_release, load_site, load_workload
from apuflow.configure.point import Point
from apuflow.configure.site import ImageMode
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.launcher.gemm import PROGRAM as GEMM
from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler, host_compiler, image_compiler
from apuflow.miopen.objects import KernelObject
from apuflow.miopen.prepare import DatabasePlan, directory_identity, plan_database
from apuflow.prepare import requests
from apuflow.prepare.data_file import file_bytes
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.records import read_record


@dataclass(frozen=True)
class ObjectOrder:
    """One kernel object to compile, as plain values: what a job on another machine needs to know."""

    program: str
    arguments: str
    layer: str
    gfx: str
    name: str
    release: str
    for_launcher: bool

    @classmethod
    def of(cls, item: KernelObject, release: str, *, for_launcher: bool) -> ObjectOrder:
        """The order for an object that a release needs.

        Args:
            for_launcher: whether it is loaded by the launcher, and not by MIOpen (see ``Toolset.compiler``).
        """
        row = item.row
        return cls(row.program, row.arguments, row.layer or "", item.gfx, item.name, release, for_launcher)

    @property
    def row(self) -> Row:
        """The row of MIOpen's kernel database that the object is compiled for."""
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
        self.workload = cache(lambda name: load_workload(name, root))
        self.request = cache(lambda tool: requests.request(tool, self.release, self.site, root))

    def record(self, tool: str) -> str:
        """Path of a tool's record (see requests.request)."""
        return paths.tool_record(self.release.name, tool, self.request(tool))

    @cached_property
    def image(self) -> ImageRecord:
        """The image that stage ``image`` recorded."""
        return read_record(self.root / self.record("image"), ImageRecord)

    @property
    def image_mode(self) -> ImageMode:
        """Where the image comes from: the site's choice, else the release's."""
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
    def compiler(self, *, for_launcher: bool) -> Compiler:
        """What compiles kernels: clang here for the launcher; for MIOpen itself, clang-ocl of its image."""
        if for_launcher:
            return _host_compiler(4)
        image = self.image
        if image.engine == "host" or image.mode == "debian" or image.digest is None:
            return _host_compiler(3)
        return image_compiler(image.digest)

    # inputs ----------------------------------------------------------------------------------------------
    def database(self, point: Point, rows: Sequence[Row]) -> DatabasePlan:
        """The kernel database of a point whose program asks MIOpen for these rows."""
        commit = self.release.miopen.source.commit
        return plan_database(
            rows,
            point.gfx,
            point.compute_units,
            release=self.release.name,
            compiler=self.compiler(for_launcher=False).identity,
            sources=directory_identity(self.kernels) if self.site.miopen_source else commit,
        )


def kernel_directory(program: str, kernels: Path) -> Path:
    """Where a program's source stands: among MIOpen's kernels, or ours for the GEMM."""
    return GEMM.parent if program == GEMM.name else kernels


def data_file(needed: int) -> str:
    """The smallest power of two of pages that holds ``needed`` bytes: points of like size share a file."""
    return paths.mmap_file(file_bytes(1 << max(0, needed - 1).bit_length()))


@cache
def _host_compiler(code_object: int) -> Compiler:
    return host_compiler(code_object=4 if code_object == 4 else 3)
