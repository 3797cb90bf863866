"""The kinds of workload; adding one begins here (docs/development.md)."""

from __future__ import annotations

from collections.abc import Mapping
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


class Works:
    """What the points of one workload in one sweep run: resolved once per distinct set of layer values.

    Args:
        fixed: layer values that every point has.
        note: is told what is wrong.
    """

    def __init__(self, workload: Workload, fixed: Mapping[str, Scalar], note: Note) -> None:
        self._workload = workload
        self._fixed = fixed
        self._note = note
        self._known: dict[tuple[tuple[str, Scalar], ...], Work | None] = {}

    def get(self, assignment: tuple[tuple[str, Scalar], ...]) -> Work | None:
        """The work with these values (``layer.<key>``); None when something is wrong with it (noted)."""
        if assignment not in self._known:
            values = {name.removeprefix("layer."): value for name, value in assignment}
            self._known[assignment] = self._workload.work({**self._fixed, **values}, self._note)
        return self._known[assignment]


def load_workload(name: str, root: Path = Path()) -> Workload:
    """The workload of that name, with its network's text; raises as load_sweep does."""
    if name == paths.OPERATIONS:
        if (root / paths.workload_file(name)).exists():
            raise ConfigError(
                "this name belongs to the points of suites",
                file=root / paths.workload_file(name),
                remedy="rename the workload",
            )
        return SuiteOperations()
    check_name(name, "workload", workload_names(root))
    path = root / paths.workload_file(name)
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
