"""The kinds of workload; adding one begins here (docs/development.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from apuflow.configure import yaml_source
from apuflow.configure.base import Model, check_name
from apuflow.configure.command_workload import CommandWorkload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.loading import workload_names
from apuflow.configure.operation_workload import DnnmarkWorkload, OperationWorkload, SuiteOperations
from apuflow.configure.work import Work
from apuflow.configure.workload import Note, Workload
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar

KINDS: Final[dict[str, type[Workload]]] = {
    each.kind: each
    for each in (DnnmarkWorkload, CommandWorkload, OperationWorkload, KernelsWorkload, SuiteOperations)
}
"""By name."""


def schemas() -> dict[str, type[Model]]:
    """The keys of a file, by the kind that it names."""
    return {name: kind.schema for name, kind in KINDS.items() if kind.schema is not None}


def works(
    workload: Workload, fixed: Mapping[str, Scalar], note: Note
) -> Callable[[tuple[tuple[str, Scalar], ...]], Work | None]:
    """A function of layer values (``layer.<key>``) beside ``fixed`` ones: what runs with them.

    It gives None when something is wrong, and notes it once for each set of values.
    """

    @cache
    def work(assignment: tuple[tuple[str, Scalar], ...]) -> Work | None:
        values = {name.removeprefix("layer."): value for name, value in assignment}
        return workload.work({**fixed, **values}, note)

    return work


def load_workload(name: str, root: Path = Path()) -> Workload:
    """The workload of that name, with its network's text; raises as load_sweep does."""
    path = root / paths.workload_file(name)
    if name == paths.OPERATIONS:
        if path.exists():
            message = "this name belongs to the points of suites"
            raise ConfigError(message, file=path, remedy="rename the workload")
        return SuiteOperations()
    check_name(name, "workload", workload_names(root))
    document = yaml_source.load(path)
    kind = document.data.get("kind")
    if kind not in schemas():
        raise ConfigError(
            "a key is missing" if kind is None else "unknown kind of workload",
            file=document.where(("kind",)),
            key="kind",
            value=kind,
            remedy=" or ".join(f"kind: {name} ({KINDS[name].title})" for name in schemas()),
        )
    return KINDS[kind].of_file(name, path, document)
