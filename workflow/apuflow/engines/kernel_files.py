"""What each kernel object, assembly, table and database is made from, as inputs of the rules that make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines.base import Needs
from apuflow.kernels.sources import is_own
from apuflow.miopen.database import DatabasePlan, key
from apuflow.prepare.tools import ObjectOrder, Toolset
from apuflow.rocblas.objects import assembly_path, is_library_kernel

Wildcards = Mapping[str, str]


class KernelFiles:
    """The kernel files that runs need, by path; filled as runs are planned.

    Args:
        tools: of a release.
        plan_all: plans every run of every sweep, for a target that is a kernel file itself.
    """

    def __init__(self, tools: Callable[[str], Toolset], plan_all: Callable[[], None]) -> None:
        self._tools = tools
        self._plan_all = plan_all
        self._made_from: dict[str, Any] = {}

    def add(self, needs: Needs, release: str, *, for_launcher: bool) -> None:
        """The kernel files of a run, and what they are made from."""
        for item in needs.every_object:
            order = ObjectOrder.of(item, release, for_launcher=for_launcher)
            self._made_from[paths.kernel_object(item.gfx, item.name)] = order
            if is_library_kernel(order.program):
                self._made_from[assembly_path(order.program)] = order
        if needs.library is not None:
            table = {"sizes": needs.library.sizes, "release": release}
            self._made_from[needs.library.table] = table
        if needs.database is not None:
            self._made_from[needs.database.path] = needs.database

    def made_from(self, pattern: str) -> Callable[[Wildcards], Any]:
        """Gives, for the wildcards of a path, what that file is made from, as plain values for its job."""

        def of(wildcards: Wildcards) -> Any:
            found = self._of(pattern, wildcards)
            return asdict(found) if isinstance(found, ObjectOrder) else found

        return of

    def inputs(self, pattern: str) -> Callable[[Wildcards], list[str]]:
        """Gives, for the wildcards of a path, the files of other rules that it is made from, in order."""

        def of(wildcards: Wildcards) -> list[str]:
            found = self._of(pattern, wildcards)
            if isinstance(found, DatabasePlan):
                return [paths.kernel_object(item.gfx, item.name) for item in found.objects]
            if isinstance(found, ObjectOrder) and not is_library_kernel(found.program):
                return [] if is_own(found.program) else self._tools(found.release).kernel_sources()
            if isinstance(found, ObjectOrder) and pattern != paths.kernel_assembly():
                return [assembly_path(found.program)]
            release = found.release if isinstance(found, ObjectOrder) else found["release"]
            return self._tools(release).gemm_sources()

        return of

    def database_keys(self, wildcards: Wildcards) -> list[tuple[str, str]]:
        """MIOpen's keys of a database, in the order of its objects."""
        plan = self._of(paths.kernel_database(), wildcards)
        return [key(item.row, plan.gfx) for item in plan.objects]

    def _of(self, pattern: str, wildcards: Wildcards) -> Any:
        path = pattern.format(**wildcards)
        if path not in self._made_from:
            self._plan_all()
        if path not in self._made_from:
            remedy = "name a file of results/ as the target: what it needs is made on the way"
            raise ConfigError("no sweep needs this file", value=path, remedy=remedy)
        return self._made_from[path]
