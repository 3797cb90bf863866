"""Inputs of the rules that make kernels: what each object, assembly, table and database is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines.base import Needs
from apuflow.kernels.sources import is_own
from apuflow.miopen.database import key
from apuflow.miopen.prepare import DatabasePlan
from apuflow.prepare.tools import ObjectOrder, Toolset
from apuflow.rocblas.library_table import Size
from apuflow.rocblas.objects import assembly_path, is_library_kernel

Wildcards = Mapping[str, str]
_Order = TypeVar("_Order")


class KernelOrders:
    """Remembers what kernels are for, as Snakemake walks from runs to their inputs.

    Args:
        tools: of a release.
        walk: goes through every run: a job on another machine starts from a file, not from a run.
    """

    def __init__(self, tools: Callable[[str], Toolset], walk: Callable[[], None]) -> None:
        self._tools = tools
        self._walk = walk
        self._objects: dict[str, ObjectOrder] = {}
        self._assemblies: dict[str, ObjectOrder] = {}
        self._tables: dict[str, tuple[tuple[Size, ...], str]] = {}
        self._databases: dict[str, DatabasePlan] = {}

    def remember(self, needs: Needs, release: str, *, for_launcher: bool) -> None:
        """What the kernels of a run are made from."""
        for item in needs.every_object:
            order = ObjectOrder.of(item, release, for_launcher=for_launcher)
            self._objects[paths.kernel_object(item.gfx, item.name)] = order
            if is_library_kernel(order.program):
                self._assemblies[assembly_path(order.program)] = order
        if needs.library is not None:
            self._tables[needs.library.table] = needs.library.sizes, release
        if needs.database is not None:
            self._databases[needs.database.path] = needs.database

    def object_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """What to compile, as plain values for the job."""
        return asdict(self._object(wildcards, "object"))

    def object_sources(self, wildcards: Wildcards) -> list[str]:
        """The checkout of MIOpen, where it is not the site's own; none for a source of the user's own."""
        order = self._object(wildcards, "object")
        return [] if is_own(order.program) else self._tools(order.release).kernel_sources()

    def gemm_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """Which of rocBLAS' kernels to assemble, as plain values for the job."""
        return asdict(self._object(wildcards, "gemm"))

    def gemm_assembly(self, wildcards: Wildcards) -> list[str]:
        """The kernel as Tensile writes it."""
        return [assembly_path(self._object(wildcards, "gemm").program)]

    def assembly_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """Which of rocBLAS' kernels to write, as plain values for the job."""
        return asdict(self._assembly(wildcards))

    def assembly_sources(self, wildcards: Wildcards) -> list[str]:
        """The checkouts of Tensile and rocBLAS."""
        return self._tools(self._assembly(wildcards).release).gemm_sources()

    def table_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """The sizes that rocBLAS' table is to hold, as plain values for the job."""
        sizes, release = self._table(wildcards)
        return {"sizes": sizes, "release": release}

    def table_sources(self, wildcards: Wildcards) -> list[str]:
        """The checkouts of Tensile and rocBLAS."""
        return self._tools(self._table(wildcards)[1]).gemm_sources()

    def database_order(self, wildcards: Wildcards) -> list[tuple[str, str]]:
        """MIOpen's keys, in the order of the objects."""
        plan = self._database(wildcards)
        return [key(item.row, plan.gfx) for item in plan.objects]

    def database_objects(self, wildcards: Wildcards) -> list[str]:
        """The compiled kernels of a database, in its order."""
        return [paths.kernel_object(item.gfx, item.name) for item in self._database(wildcards).objects]

    def _object(self, wildcards: Wildcards, name: str) -> ObjectOrder:
        return self._remembered(self._objects, paths.kernel_object(wildcards["gfx"], wildcards[name]))

    def _assembly(self, wildcards: Wildcards) -> ObjectOrder:
        return self._remembered(self._assemblies, paths.kernel_assembly(wildcards["assembly"]))

    def _table(self, wildcards: Wildcards) -> tuple[tuple[Size, ...], str]:
        return self._remembered(self._tables, paths.product_table(wildcards["table"]))

    def _database(self, wildcards: Wildcards) -> DatabasePlan:
        path = paths.kernel_database(wildcards["release"], wildcards["rows"], wildcards["database"])
        return self._remembered(self._databases, path)

    def _remembered(self, orders: Mapping[str, _Order], path: str) -> _Order:
        if path not in orders:
            self._walk()
        if path not in orders:
            raise ConfigError(
                "no sweep needs this file",
                value=path,
                remedy="name a file of results/ as the target: what it needs is made on the way",
            )
        return orders[path]
