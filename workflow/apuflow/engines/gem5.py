"""Engine gem5: whole programs on gem5, DNNMark's and others, with the ROCm runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow.configure import Release
from apuflow.configure.point import Point
from apuflow.configure.site import Site
from apuflow.configure.work import Software
from apuflow.configure.workload import Workload
from apuflow.core.engines import EngineName
from apuflow.engines import estimate
from apuflow.engines.base import ProgramEngine
from apuflow.prepare import requests


class Gem5(ProgramEngine):
    """The workload's own program under ``apu_se.py``, in the container image: everything is real."""

    name: ClassVar[EngineName] = "gem5"
    image_in_identity: ClassVar[bool] = True
    cost_basis: ClassVar[str] = (
        f"GPU part alone, from {estimate.FROM_COUNTS}; the simulated CPUs come on top: "
        "150 to 300 s for each of the small layers seen"
    )
    cost_is_a_lower_bound: ClassVar[bool] = True

    @override
    def software(self, release: Release, gfx: str, workload: Workload, site: Site, root: Path) -> Software:
        found = super().software(release, gfx, workload, site, root)
        return replace(found, image=requests.image_content(release, site, root))

    @override
    def host_memory(self, point: Point) -> int:
        return estimate.host_memory(point, runtime_bytes=estimate.RUNTIME_BYTES)


ENGINE = Gem5()
