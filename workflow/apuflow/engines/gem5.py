"""Engines whose points are runs of gem5: whole programs with the ROCm runtime, or kernels alone."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure.point import Point
from apuflow.configure.products import Decision, on_gem5
from apuflow.configure.site import Site
from apuflow.configure.work import Software, Work
from apuflow.configure.workload import Runs, Workload
from apuflow.configure.workloads import KINDS
from apuflow.core.engines import KERNELS_VERSION, EngineName
from apuflow.core.errors import ApuflowError
from apuflow.engines import estimate
from apuflow.engines.base import Engine, Inputs, Needs, Place, Prepared, Program
from apuflow.engines.simulated import statistics_of
from apuflow.miopen import Row
from apuflow.miopen.compiler_faults import FAULTY_PROGRAMS, spoilt
from apuflow.prepare import requests
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset, cached_host_compiler


class SimulatingEngine(Engine):
    """An engine on which the kind of a workload says what program runs its points."""

    for_launcher: ClassVar[bool] = False
    """Whether kernel objects are compiled for the launcher, and not for MIOpen."""

    runtime_bytes: ClassVar[int] = 0
    """Host memory that a runtime besides the workload's own program touches."""

    def _program(self, kind: str) -> Program[Any]:
        module = importlib.import_module(f"apuflow.engines.{KINDS[kind].programs[self.name]}")
        program: Program[Any] = module.PROGRAM
        return program

    @override
    def runs(self, workload: Workload) -> Runs:
        if self.name not in workload.programs:
            return Runs(state="no", reason=workload.refusal(self.name))
        return Runs(state="yes", reason=self._program(workload.kind).reason)

    @override
    def software(self, workload: Workload, place: Place) -> Software:
        if self.name not in workload.programs:
            return Software()  # of what is refused, as ``runs`` says
        found = self._program(workload.kind).software(workload, place)
        return replace(found, gem5=requests.gem5_content(*place))

    @override
    def use(self, workload: Workload) -> Use:
        return self._program(workload.kind).use

    def needs(self, tools: Toolset, point: Point) -> Needs:
        """See Program.needs."""
        return self._program(point.kind).needs(tools, point)

    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        """See Program.prepare."""
        return self._program(point.kind).prepare(tools, point, inputs, gem5, run_dir)

    @override
    def host_memory(self, point: Point) -> int:
        return estimate.host_memory(point, runtime_bytes=self.runtime_bytes)


class Gem5(SimulatingEngine):
    """The workload's own program under ``apu_se.py``, in the container image: everything is real."""

    name: ClassVar[EngineName] = "gem5"
    image_in_identity: ClassVar[bool] = True
    runtime_bytes: ClassVar[int] = estimate.RUNTIME_BYTES
    cost_basis: ClassVar[str] = (
        f"GPU part alone, from {estimate.FROM_COUNTS}; the simulated CPUs come on top: "
        "150 to 300 s for each of the small layers seen"
    )
    cost_is_a_lower_bound: ClassVar[bool] = True

    @override
    def software(self, workload: Workload, place: Place) -> Software:
        image = requests.image_content(place.release, place.site, place.root)
        return replace(super().software(workload, place), image=image)


class Gem5Kernels(SimulatingEngine):
    """Just the layer's kernels on gem5, started by the launcher without ROCm."""

    name: ClassVar[EngineName] = "gem5-kernels"
    for_launcher: ClassVar[bool] = True
    cost_basis: ClassVar[str] = estimate.FROM_COUNTS

    @override
    def software(self, workload: Workload, place: Place) -> Software:
        per_kernel = place.release.capabilities.per_kernel_statistics
        statistics = statistics_of(place.release) if per_kernel else None
        return replace(super().software(workload, place), version=KERNELS_VERSION, statistics=statistics)

    @override
    def products(self, site: Site) -> Decision:
        return on_gem5(site)

    @override
    def layer_objection(self, work: Work, compute_units: int, gfx: str) -> ApuflowError | None:
        try:
            launches = work.launches(compute_units)
            rows = {Row(each.program or "", each.arguments or "", each.layer) for each in launches}
            suspects = [row for row in rows if row.program in FAULTY_PROGRAMS]
            found = (spoilt(row, gfx, cached_host_compiler(4).identity) for row in suspects)
            return next(filter(None, found), None)
        except ApuflowError:  # no kernels or no clang: the error comes where they are needed
            return None
