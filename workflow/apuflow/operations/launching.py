"""Kernels that several operations launch, and their arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from apuflow.miopen.launch import Arg, ArgKind, Launch, Role, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, ints
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, MOST_SET_ITEMS, set_arguments, set_items
from apuflow.operations.operation import Operation, Pass

WAVE = 64
"""Work-items of a wavefront."""
HIP_COPY = "stands in for hipMemcpy, which MIOpen calls for packed tensors"


def scalars(kind: ArgKind, **values: float) -> tuple[Arg, ...]:
    """Arguments of one type by name, in order."""
    return tuple(Arg(kind, value, name=name) for name, value in values.items())


@dataclass(frozen=True)
class View:
    """Rows of a buffer.

    Attributes:
        offset: where the first row begins; pitch: elements from row to row.
        step: what ``offset`` grows by from one time step of a loop to the next.
    """

    name: str
    size: int
    offset: int = 0
    pitch: int = 0
    step: int = 0

    def at(self, elements: int) -> View:
        """The same rows, so many elements further on."""
        return replace(self, offset=self.offset + elements)

    def arg(self, role: Role, meaning: str = "") -> Arg:
        """The buffer as a kernel argument."""
        return Arg("buffer", self.name, self.size, role, meaning or self.name.rpartition(".")[2])

    def offset_arg(self, kind: Literal["int", "long"], name: str) -> Arg:
        """Where the rows begin, as a kernel argument."""
        return Arg(kind, self.offset, name=name, step=self.step)


def reads(unit: int) -> str:
    """Compile arguments: floats that a work-item reads at once."""
    return f" -DRD_BLCK={unit} -DREAD_TYPE={'float' if unit == 1 else f'float{unit}'}"


def fill(of: Operation, direction: Pass, target: Arg, value: float = 0.0) -> Launch:
    """MIOpen's set-tensor over a whole packed buffer (``SetTensor``)."""
    items, elements = set_items(target.elements), target.elements
    args = (target, *floats(value=value), *ints(offset=0, stride=1, elements=elements))
    program, kernel = "MIOpenSubTensorOpWithScalarKernel.cl", "SubTensorOpWithScalar1d"
    arguments, group = set_arguments(elements), min(GROUP, items)
    return of.launch(direction, program, arguments, kernel, (items, 1, 1), group, args)


def worker_sizes(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Work-items along each dimension (``get_worker_sizes`` of ``tensorocl.cpp``).

    Powers of two; above 65,536 together the first dimensions are cut.
    """
    sizes = [1 << (length - 1).bit_length() for length in lengths]
    over = prod(sizes) // MOST_SET_ITEMS
    for number, old in enumerate(sizes):
        if over <= 1:
            break
        sizes[number] = (old - 1) // over + 1
        over //= old // sizes[number]
    return tuple(sizes)


def copy(
    of: Operation, direction: Pass, source: View, target: View, lengths: tuple[int, int], note: str = ""
) -> Launch:
    """MIOpen's copy of rows (``CopyTensor``) of ``lengths`` (rows, elements); of one row in one dimension."""
    flat = lengths[1:] if lengths[0] == 1 else lengths
    sizes = worker_sizes(flat)
    items, count = prod(sizes), len(flat)

    def side(view: View, role: Role, name: str) -> tuple[Arg, ...]:
        strides = {f"{name}_stride_{i}": stride for i, stride in enumerate((view.pitch, 1)[-count:])}
        return view.arg(role), view.offset_arg("int", f"{name}_offset"), *ints(**strides)

    named = ints(**{f"length_{i}": length for i, length in enumerate(flat)})
    args = (*side(source, "in", "source"), *named, *side(target, "out", "target"))
    work = defines({f"WORK_LENGTH_{i}": size for i, size in enumerate(sizes)}, prefix="")
    arguments = f" -DSUBTENSOR_OP_WITH_SUBTENSOR=SUBTENSOR_OP_WITH_SUBTENSOR_COPY{FP32_ALL}{work}"
    program, kernel = "MIOpenSubTensorOpWithSubTensorKernel.cl", f"SubTensorOpWithSubTensor{count}d"
    return of.launch(direction, program, arguments, kernel, (items, 1, 1), min(GROUP, items), args, note)
