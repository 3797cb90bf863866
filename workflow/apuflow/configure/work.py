"""What a point runs, whatever its machine is, the programs and models that run it, and parts of its label."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import PlainSerializer, PlainValidator
from typing_extensions import override

from apuflow import dnnmark, miopen, operations
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.scalar import Scalar
from apuflow.launcher.corrections import CORRECTIONS_VERSION, version_of
from apuflow.operations import Operation

if TYPE_CHECKING:
    from apuflow.preview.profile import Profile

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
    def simulated_bytes(self) -> int:
        """Simulated memory that its machine must have."""
        return self.device_bytes

    def touched_bytes(self, memory_bytes: int) -> int:
        """Simulated memory that it writes to, on a machine of ``memory_bytes``."""
        return min(memory_bytes, self.simulated_bytes)

    @abstractmethod
    def launches(self, compute_units: int) -> tuple[miopen.Launch, ...]:
        """The GPU kernels that it launches, in order.

        NotModelled if they are not known before it runs; NotDerivable if MIOpen refuses a layer.
        """

    executed: ClassVar[bool] = False
    """Whether the preview has to compile and execute its kernels."""

    @property
    def of_workload(self) -> str | None:
        """The workload whose files it was made from, where they are needed again."""
        return None

    def previewed(
        self, compute_units: int, gfx: str
    ) -> tuple[tuple[miopen.Launch, ...], tuple[Profile, ...] | None]:
        """The GPU kernels that it launches, and what each does where ``preview.kernels`` does not know them.

        Raises:
            ApuflowError: as ``launches``, or they cannot be compiled or executed.
        """
        del gfx
        return self.launches(compute_units), None

    def kept(self, compute_units: int, gfx: str) -> bool:
        """Whether ``previewed`` needs to compile and execute nothing, or fails at once."""
        del compute_units, gfx
        return True

    def weights(self, compute_units: int, gfx: str) -> tuple[float, ...]:
        """How often each launch counts in the program that it was recorded from; none: there is none."""
        del compute_units, gfx
        return ()

    def not_compiled(self, gfx: str) -> ConfigError | None:
        """Why no compiler of its kernels makes code for a GPU; None: as far as is known, all do."""
        del gfx
        return None

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


@dataclass(frozen=True, kw_only=True)
class Software:
    """Everything that can change a point's result besides its machine and its work. None: it has no part.

    Attributes:
        version: of the engine, where it is this project's own.
        gem5: commit and build, or the hash of the site's program (``prepare.requests.gem5_content``).
        image: digest, or the sources that it may come from (``prepare.requests.image_content``).
        statistics: what the launcher does with gem5's statistics.
        miopen: commit of the sources of its kernels.
        corrections: version of the changes that kernels are compiled with (``launcher.corrections``).
        products: commits of rocBLAS' kernels; None: no product, the stand-in, or those of the image.
        benchmark, dnnmark: program, and the build that has it (``prepare.requests.dnnmark_content``).
        command: hashes, arguments and environment of a program of the user's.
        barrier_slots, matrix_cycles: of the preview's model of the release.
    """

    version: str | None = None
    gem5: Mapping[str, Any] | None = None
    image: Mapping[str, Any] | None = None
    statistics: str | None = None
    miopen: str | None = None
    corrections: str | None = None
    products: Mapping[str, str] | None = None
    benchmark: str | None = None
    dnnmark: str | Mapping[str, Any] | None = None
    command: Mapping[str, Any] | None = None
    barrier_slots: int | None = None
    matrix_cycles: str | None = None

    def content(self) -> dict[str, Any]:
        """Its part of a point's identity."""
        return {name: value for name, value in vars(self).items() if value is not None}


LABEL_LENGTH = 100
"""Longest label; with the identity behind it, it must stay a file name."""


def option_parts(release: str, changed: Mapping[str, Scalar], compute_units: int) -> tuple[str, ...]:
    """``v23.0``, ``u8``, ``num-tccs4``, ``dgpu``: release, compute units, and what else differs.

    Left out: ``mem-size``, which follows the workload, and ``cu-per-sa`` where it follows the compute units.
    """
    parts = [release, f"u{compute_units}"]
    for name, value in changed.items():
        if name in ("num-compute-units", "mem-size") or (name == "cu-per-sa" and value == compute_units):
            continue
        parts.append(name if value is True else value_part(name, value))
    return tuple(parts)


def value_part(name: str, value: Scalar) -> str:
    """Name and value as part of a file name."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return name + re.sub(r"[^A-Za-z0-9._-]", "-", text)


def label_of(*parts: str) -> str:
    """The parts as one label, cut to a length that file systems take."""
    return "_".join(part for part in parts if part)[:LABEL_LENGTH].rstrip("_-.")
