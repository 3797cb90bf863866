"""Engine preview: the timing model; all points of a workload are one batch (``engines.preview_batch``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure.catalogue import catalogue
from apuflow.configure.point import Point
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.workloads import Workload
from apuflow.core.engines import PREVIEW_VERSION, EngineName
from apuflow.core.scalar import Scalar
from apuflow.engines.base import Engine
from apuflow.prepare.doctor import Use

UNREAD = frozenset({"mem-size"})
"""Options besides group ``system`` that the model does not read."""


class Preview(Engine):
    """The timing model."""

    name: ClassVar[EngineName] = "preview"

    @override
    def content(
        self, release: Release, gfx: str, workload: Workload, site: Site, root: Path
    ) -> dict[str, Any]:
        return {
            "engine": self.name,
            "direction": workload.direction,
            "version": PREVIEW_VERSION,
            "barrier_slots": release.capabilities.barrier_slots,
        }

    @override
    def options_read(self, changed: Mapping[str, Scalar]) -> dict[str, Scalar]:
        known = catalogue()
        return {
            name: value
            for name, value in changed.items()
            if known[name].group != "system" and name not in UNREAD
        }

    @override
    def use(self, workload: Workload) -> Use:
        return Use.PREVIEW

    @override
    def host_memory(self, point: Point) -> int:
        return 0


ENGINE = Preview()
