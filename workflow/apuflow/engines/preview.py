"""Engine preview: the timing model; all points of a workload are one batch (``engines.preview_batch``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar

from typing_extensions import override

from apuflow.configure import option_rules
from apuflow.configure.catalogue import catalogue
from apuflow.configure.products import Decision, in_preview
from apuflow.configure.site import Site
from apuflow.configure.work import Software, Work
from apuflow.configure.workload import Runs, Workload
from apuflow.core.engines import PREVIEW_VERSION, EngineName
from apuflow.core.errors import ApuflowError
from apuflow.core.gpus import gpu
from apuflow.core.scalar import Scalar
from apuflow.engines.base import Engine, Place
from apuflow.prepare.doctor import Use
from apuflow.rocblas.call import library_versions


@lru_cache(maxsize=65536)
def _objection(work: Work, compute_units: int, gfx: str) -> ApuflowError | None:
    from apuflow.preview.kernels.facts import facts_of, is_vega
    from apuflow.preview.kernels.registry import profile

    if work.executed:
        return None
    try:
        vega = is_vega(gpu(gfx).isa)
        for launch in work.launches(compute_units):
            profile(facts_of(launch, vega))
    except ApuflowError as error:
        return error
    return None


def _matrix_cycles(place: Place) -> str | None:
    """Where the release's times of matrix instructions have a part in a point's result."""
    cycles = place.release.capabilities.matrix_cycles
    return None if cycles == "none" or gpu(place.gfx).isa.accumulation == "none" else cycles


UNREAD = frozenset({"mem-size"})
"""Options besides group ``system`` that the model does not read."""


class Preview(Engine):
    """The timing model."""

    name: ClassVar[EngineName] = "preview"

    @override
    def runs(self, workload: Workload) -> Runs:
        if workload.executed:
            return Runs(state="yes", reason="its kernels are compiled and executed without gem5")
        return super().runs(workload)

    @override
    def software(self, workload: Workload, place: Place) -> Software:
        return Software(
            version=PREVIEW_VERSION,
            barrier_slots=place.release.capabilities.barrier_slots,
            matrix_cycles=_matrix_cycles(place),
            products=library_versions(self.products(place.site).products, place.gfx),
        )

    @override
    def products(self, site: Site) -> Decision:
        return in_preview(site)

    @override
    def options_read(self, changed: Mapping[str, Scalar]) -> dict[str, Scalar]:
        known = catalogue()
        return {
            name: value
            for name, value in changed.items()
            if known[name].group != "system" and name not in UNREAD
        }

    @override
    def objection(self, options: Mapping[str, Scalar]) -> ApuflowError | None:
        from apuflow.preview import RELEASE
        from apuflow.preview.machine import check

        try:
            check(options, option_rules.defaults(RELEASE))
        except ApuflowError as error:
            return error
        return None

    @override
    def layer_objection(self, work: Work, compute_units: int, gfx: str) -> ApuflowError | None:
        return _objection(work, compute_units, gfx)

    @override
    def use(self, workload: Workload) -> Use:
        return Use.PREVIEW
