"""What a point runs, whatever its machine is: a network with this point's values, an operation, a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator
from typing_extensions import override

from apuflow import dnnmark, miopen, operations
from apuflow.core.errors import ApuflowError
from apuflow.launcher.corrections import CORRECTIONS_VERSION, version_of
from apuflow.operations import Operation

RUNTIME_BYTES = 512 * 1024**2
"""Simulated memory for the program, ROCm and its code objects beside DNNMark's tensors: gem5's own tests run
softmax, pooling (216 MB of tensors) and batch normalisation in 512 MB altogether (tests/weekly.sh)."""


class Work(ABC):
    """What one point runs."""

    direction: dnnmark.Direction | None
    label: tuple[str, ...]

    @property
    @abstractmethod
    def text(self) -> str | None:
        """Network or operation in canonical form, as it enters the point's identity; None for a program."""

    @property
    @abstractmethod
    def device_bytes(self) -> int:
        """Simulated memory that it allocates."""

    @property
    @abstractmethod
    def simulated_bytes(self) -> int:
        """Simulated memory that its machine must have."""

    @abstractmethod
    def touched_bytes(self, memory_bytes: int) -> int:
        """Simulated memory that it writes to, on a machine of ``memory_bytes``."""

    @abstractmethod
    def launches(self, compute_units: int) -> tuple[miopen.Launch, ...]:
        """The GPU kernels that it launches, in order.

        Raises:
            NotModelled: its kernels are not known before it runs.
            NotDerivable: MIOpen refuses a layer.
        """

    def warnings(self, gfx: str) -> Iterator[dnnmark.Problem]:
        """What may go wrong on a GPU, though it can be tried."""
        del gfx
        return iter(())


@dataclass(frozen=True)
class OperationWork(Work):
    """An operation: DNNMark's layers, or one beyond them.

    Attributes:
        handles: MIOpen handles that its program makes.
        label: what differs from the workload's file, as ``m64``.
    """

    operation: Annotated[
        Operation, PlainSerializer(lambda operation: operation.text), PlainValidator(operations.parse)
    ]
    direction: dnnmark.Direction
    handles: int | None = None
    label: tuple[str, ...] = field(default=(), compare=False)

    @property
    @override
    def text(self) -> str:
        return self.operation.text

    @property
    @override
    def device_bytes(self) -> int:
        return _bytes(self.operation, self.direction)[0]

    @property
    def data_bytes(self) -> int:
        """Size of the largest chunk that is filled from the data file."""
        return _bytes(self.operation, self.direction)[1]

    @property
    @override
    def simulated_bytes(self) -> int:
        return self.device_bytes + self.data_bytes + RUNTIME_BYTES

    @override
    def touched_bytes(self, memory_bytes: int) -> int:
        return self.device_bytes + self.data_bytes

    @override
    def launches(self, compute_units: int) -> tuple[miopen.Launch, ...]:
        return self.operation.launches(self.direction, compute_units)

    @override
    def warnings(self, gfx: str) -> Iterator[dnnmark.Problem]:
        return self.operation.traps(self.direction, self.handles, gfx)


@lru_cache(maxsize=4096)
def _bytes(operation: Operation, direction: dnnmark.Direction) -> tuple[int, int]:
    return operation.device_bytes(direction), operation.data_bytes(direction)


@lru_cache(maxsize=65536)
def corrections_of(work: Work) -> str:
    """The version of the changes for gem5 that its kernels are compiled with (``launcher.corrections``)."""
    try:
        return version_of(work.launches(4))
    except ApuflowError:
        return CORRECTIONS_VERSION


@lru_cache(maxsize=65536)
def launches_products(work: Work) -> bool:
    """Whether it launches a matrix product, on any number of compute units."""
    try:
        return any(launch.gemm is not None for launch in work.launches(4))
    except ApuflowError:
        return False
