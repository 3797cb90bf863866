"""What an engine is: everything that differs between gem5, gem5-kernels and the preview."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

from apuflow.configure.point import Point
from apuflow.configure.products import Decision
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.work import Software, Work, corrections_of, launches_products
from apuflow.configure.workload import Runs, Workload
from apuflow.core.engines import EngineName
from apuflow.core.errors import ApuflowError
from apuflow.core.record import LaunchRecord, Provenance
from apuflow.core.scalar import Scalar
from apuflow.miopen.database import DatabasePlan
from apuflow.miopen.objects import KernelObject
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset
from apuflow.rocblas.objects import ProductLibrary, assembly_path, is_library_kernel
from apuflow.run.process import Process


class Place(NamedTuple):
    """Where a workload runs: what decides its software besides the workload itself."""

    release: Release
    gfx: str
    site: Site
    root: Path


class Engine(ABC):
    """Makes the results of points."""

    name: ClassVar[EngineName]

    image_in_identity: ClassVar[bool] = False
    """Whether the container image's digest is part of a point's identity: then it has to be known first."""

    cost_basis: ClassVar[str] = ""
    """What an estimate of host time from the preview's counts stands on."""

    cost_is_a_lower_bound: ClassVar[bool] = False
    """Whether that estimate leaves out a part of the run."""

    def runs(self, workload: Workload) -> Runs:
        """Whether it can run a workload whose file says nothing about this engine."""
        if workload.derives_kernels:
            return Runs(state="yes", reason="no known obstacle")
        return Runs(state="no", reason=workload.refusal(self.name))

    @abstractmethod
    def software(self, workload: Workload, place: Place) -> Software:
        """What runs the workload on a GPU, whatever its work (see ``software_of``)."""

    def products(self, site: Site) -> Decision | None:
        """Whose kernels compute matrix products, before the GPU is known; None: the program decides."""
        del site
        return None

    def options_read(self, changed: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Of the options that differ from the release's defaults, those that can change its results."""
        return dict(changed)

    def objection(self, options: Mapping[str, Scalar]) -> ApuflowError | None:
        """Why it cannot run a machine with these options, though gem5 could be started; None: it can."""
        return None

    def layer_objection(self, work: Work, compute_units: int, gfx: str) -> ApuflowError | None:
        """Why it cannot run these layers on so many compute units; None: nothing is known against it."""
        del work, compute_units, gfx
        return None

    @abstractmethod
    def use(self, workload: Workload) -> Use:
        """What a run of the workload asks of this machine."""

    def host_memory(self, point: Point) -> int:
        """Bytes of host memory that a run will touch, rounded up to 100 MB; 0 where it is no matter."""
        del point
        return 0


def software_of(software: Software, workload: Workload, work: Work) -> Software:
    """A workload's software, less what has no part in a piece of its work."""
    if software.products is not None and not launches_products(work):
        software = replace(software, products=None)
    if software.corrections is not None and workload.derives_kernels:
        software = replace(software, corrections=corrections_of(work))
    return software


@dataclass(frozen=True)
class Needs:
    """Files that must exist before a point can run, relative to the project's directory.

    Attributes:
        tools: records of gem5, the image and DNNMark.
        objects: kernel objects by the row they are compiled from.
        database: MIOpen's kernel database made of them; None where the runtime has no part.
        data: the file of floats that tensors are filled from.
        launcher: the program that dispatches kernels without a runtime.
        library: what the image's rocBLAS is given instead of its own kernels; None: those run.
    """

    tools: tuple[str, ...]
    objects: tuple[KernelObject, ...] = ()
    database: DatabasePlan | None = None
    data: str | None = None
    launcher: str | None = None
    library: ProductLibrary | None = None

    @property
    def every_object(self) -> tuple[KernelObject, ...]:
        """All kernel objects."""
        return (*self.objects, *(self.library.objects if self.library else ()))

    def inputs(self) -> Inputs:
        """As a run reads them. A database stands for the objects in it."""
        objects = () if self.database else self.objects
        others = list(self.tools[1:])
        if self.library is not None:
            others += [self.library.table, *(str(item.path()) for item in self.library.objects)]
        return Inputs(
            self.tools[0],
            self.database.path if self.database else None,
            self.data,
            self.launcher,
            {item.row.key: str(item.path()) for item in objects},
            others,
        )

    def made_for_runs(self) -> list[str]:
        """All that is made for runs, on the way to them too; tools are made for a release."""
        made = [file for file in self.inputs().files if file not in self.tools]
        programs = (item.row.program for item in self.every_object)
        made += [assembly_path(program) for program in programs if is_library_kernel(program)]
        return made + [str(item.path()) for item in self.every_object]


@dataclass(frozen=True)
class Inputs:
    """Files that a run reads, as in Needs.

    Attributes:
        gem5: record of the gem5 that runs.
        objects: for the launcher: kernel objects by program and arguments.
        others: all else that must be there.
    """

    gem5: str
    database: str | None = None
    data: str | None = None
    launcher: str | None = None
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)
    others: Sequence[str] = ()

    @property
    def files(self) -> list[str]:
        """All of them, each once."""
        named = (self.gem5, *self.others, *self.objects.values(), self.database, self.data, self.launcher)
        return list(dict.fromkeys(filter(None, named)))


@dataclass(frozen=True)
class Prepared:
    """A run, ready to be started.

    Attributes:
        launches: the GPU kernels that it launches, in order, as far as they are known.
        reads: files and directories that it reads besides gem5's.
        provenance: what it is made from.
    """

    process: Process
    launches: tuple[LaunchRecord, ...]
    reads: tuple[Path, ...]
    provenance: Provenance = field(default_factory=Provenance)


W = TypeVar("W", bound=Workload)


class Program(ABC, Generic[W]):
    """How workloads of one kind, or of several, run on gem5 (``Workload.programs``)."""

    use: ClassVar[Use]
    reason: ClassVar[str] = "no known obstacle"
    """Why it can run them."""

    @abstractmethod
    def software(self, workload: W, place: Place) -> Software:
        """The program and its libraries; gem5 itself is the engine's to add."""

    @abstractmethod
    def needs(self, tools: Toolset, point: Point) -> Needs:
        """What has to exist before a point can run.

        Raises:
            ConfigError: the point cannot run on this release or site.
            NotDerivable: a layer whose kernel key MIOpen's formulas do not give.
        """

    @abstractmethod
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        """The run of a point.

        Args:
            run_dir: where it will run, absolute.

        Raises:
            ConfigError: the guest could not read its files where they are, or the program is not there.
            EngineError: DNNMark is not what its record says.
        """


def needed_tools(tools: Toolset, point: Point) -> tuple[str, str]:
    """Records of the gem5 and of the image that a program runs with."""
    return tools.record(tools.gem5_tool(point.gfx)), tools.record("image")
