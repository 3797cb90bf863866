"""Engine gem5-kernels: kernels alone on gem5, started by the launcher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow.configure.point import Point
from apuflow.configure.products import Decision, on_gem5
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.work import Software, Work
from apuflow.configure.workload import Workload
from apuflow.core.engines import KERNELS_VERSION, EngineName
from apuflow.core.errors import ApuflowError
from apuflow.engines import estimate
from apuflow.engines.base import ProgramEngine
from apuflow.engines.launched import statistics_of
from apuflow.miopen import Row
from apuflow.miopen.compiler_faults import FAULTY_PROGRAMS, spoilt
from apuflow.prepare.tools import cached_host_compiler


class Gem5Kernels(ProgramEngine):
    """Just the layer's kernels on gem5, started by the launcher without ROCm."""

    name: ClassVar[EngineName] = "gem5-kernels"
    for_launcher: ClassVar[bool] = True
    cost_basis: ClassVar[str] = estimate.FROM_COUNTS

    @override
    def software(self, release: Release, gfx: str, workload: Workload, site: Site, root: Path) -> Software:
        statistics = statistics_of(release) if release.capabilities.per_kernel_statistics else None
        found = super().software(release, gfx, workload, site, root)
        return replace(found, version=KERNELS_VERSION, statistics=statistics)

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

    @override
    def host_memory(self, point: Point) -> int:
        return estimate.host_memory(point, runtime_bytes=0)


ENGINE = Gem5Kernels()
