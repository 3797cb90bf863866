"""What the GPU's manual says of cases: the same kernels, by the interpreter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.assemble import ACCUMULATION, Assembled, build_object, memory_content
from apuflow.conformance.case import LANES, MEMORY_BYTES, ROUNDS
from apuflow.core.errors import EngineError
from apuflow.interpret.image import Image, load_image
from apuflow.interpret.run import Launch, Machine, Value

PER_OBJECT: Final = 100
"""Kernels of a code object."""
_LIMIT: Final = 1_000_000
"""Wavefront instructions after which a kernel is taken for endless."""


@dataclass(frozen=True, eq=False)
class Values:
    """What a case leaves: rows (ROUNDS, rows, 64), and the buffer's bytes (none: the case has no buffer)."""

    rows: NDArray[np.uint32]
    memory: NDArray[np.uint8]

    def data(self) -> bytes:
        """As bytes; of the buffer, what differs from its content before."""
        changed = self.memory ^ memory_content()[: self.memory.size]
        return self.rows.tobytes() + changed.tobytes()

    @classmethod
    def of(cls, each: Assembled, data: bytes) -> Values:
        """The values of a case from their bytes."""
        size = ROUNDS * each.rows * LANES * 4
        rows = np.frombuffer(data[:size], np.uint32).reshape(ROUNDS, each.rows, LANES)
        changed = np.frombuffer(data[size:], np.uint8)
        return cls(rows, changed ^ memory_content()[: changed.size])


def expected(some: Sequence[Assembled], gfx: str) -> Iterator[tuple[Assembled, Values | str]]:
    """Values of each case, or why the interpreter has none; the order is that of instruction sets."""
    for isa in sorted({each.isa for each in some}):
        chosen = [each for each in some if each.isa == isa]
        for first in range(0, len(chosen), PER_OBJECT):
            yield from _interpreted(chosen[first : first + PER_OBJECT], gfx)


def _interpreted(some: Sequence[Assembled], gfx: str) -> Iterator[tuple[Assembled, Values | str]]:
    with tempfile.TemporaryDirectory(prefix="apuflow-conformance-") as directory:
        code = Path(directory) / "cases.o"
        build_object(some, gfx, code)
        image = _as(load_image(code), some[0])
    inputs = [each.input_data() for each in some]
    sizes = {"memory": MEMORY_BYTES}
    for number, (each, data) in enumerate(zip(some, inputs, strict=True)):
        sizes[f"in{number}"] = data.nbytes
        sizes[f"out{number}"] = max(256, ROUNDS * each.rows * LANES * 4)
    machine = Machine(sizes, [image])
    for number, (each, data) in enumerate(zip(some, inputs, strict=True)):
        machine.memory.view(f"in{number}")[:] = data.reshape(-1).view(np.uint8)
        machine.memory.view("memory")[:] = memory_content()
        buffers = (f"in{number}", f"out{number}", "memory")
        arguments = tuple(Value(buffer=name) for name in buffers)
        launch = Launch(0, f"k{number}", (ROUNDS * LANES, 1, 1), (LANES, 1, 1), arguments)
        try:
            machine.run(launch, limit=_LIMIT)
        except EngineError as error:
            yield each, error.message.partition(": ")[2]
            continue
        except Exception as error:  # a defect of the interpreter: the case has no expected value
            yield each, f"the interpreter failed: {type(error).__name__}: {error}"
            continue
        rows = machine.memory.view(f"out{number}")[: ROUNDS * each.rows * LANES * 4].copy().view(np.uint32)
        memory = machine.memory.view("memory").copy() if each.case.memory else np.zeros(0, np.uint8)
        yield each, Values(rows.reshape(ROUNDS, each.rows, LANES), memory)


def _as(image: Image, each: Assembled) -> Image:
    """A code object whose instructions are those of the case's processor."""
    unified = each.isa in ("gfx908", "gfx90a", "gfx940")
    kernels = {
        name: replace(start, accumulation=ACCUMULATION if unified else start.registers)
        for name, start in image.kernels.items()
    }
    return replace(image, isa=each.isa, kernels=kernels)
