"""The workload that the points of all suites belong to: each of them is one operation in one direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from typing_extensions import override

from apuflow.configure import labels
from apuflow.configure.work import OperationWork, Work
from apuflow.configure.workload import Note, Workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites import spec
from apuflow.suites.step import OPERATION

LABEL = 60
"""Longest part of a label that names an operation; the identity behind the label tells points apart."""


@dataclass(frozen=True)
class SuiteOperations(Workload):
    """Single operations of networks and suites, on engines gem5-kernels and preview.

    ``direction`` is that of its points; there are two such workloads with one name.
    """

    kind: ClassVar[str] = "suites"
    works: ClassVar[tuple[type[Work], ...]] = (OperationWork,)
    derives_kernels: ClassVar[bool] = True
    programs: ClassVar[Mapping[EngineName, str]] = {"gem5-kernels": "derived_kernels"}

    name: str = paths.OPERATIONS
    description: str = "operations of networks and suites"

    @override
    def refusal(self, engine: EngineName) -> str:
        return f"suites are single operations, and {engine} runs whole programs: use gem5-kernels or preview"

    @property
    @override
    def program(self) -> str:
        return "operations of suites"

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        try:
            return _work(str(layer[OPERATION]))
        except ConfigError as error:
            note(ConfigError(f"{layer[OPERATION]}: {error.message}", key=error.key, remedy=error.remedy))
            return None


@lru_cache(maxsize=65536)
def _work(text: str) -> Work:
    """What runs for the text of a specification.

    Raises:
        ConfigError: the network or operation cannot run.
    """
    wanted = spec.parse(text)
    label = (wanted.kind.lower(), wanted.direction, _label(wanted)[:LABEL])
    operation = wanted.operation()
    for problem in operation.traps(wanted.direction):
        if problem.level == "error":
            raise ConfigError(problem.message, key="operation", value=text, remedy=problem.remedy)
    return OperationWork(operation, wanted.direction, label=label)


def _label(wanted: spec.Spec) -> str:
    """Sizes of an operation, shortened: ``n1c3h224w224``."""
    short = {"num_output": "k", "kernel_size": "r", "stride": "s", "pad": "p"}
    return "".join(
        labels.value_part(short.get(name, name), value) for name, value in wanted.keys if name != "conv_mode"
    )
