"""Launches of an operation: what all of them have in common, and the kernels that several use."""

from __future__ import annotations

from math import prod
from typing import Literal, Protocol

from apuflow.miopen.launch import Arg, ArgKind, Extent, Launch, Role
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, ints
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, MOST_SET_ITEMS, set_arguments, set_items

WAVE = 64
"""Work-items of a wavefront."""
HIP_COPY = "stands in for hipMemcpy, which MIOpen calls for packed tensors"


class Named(Protocol):
    """Whatever launches: by name and kind."""

    @property
    def name(self) -> str:
        """Its name in launches."""
        ...

    @property
    def kind(self) -> str:
        """Its kind in launches."""
        ...


def buffer(name: str, elements: int, role: Role, meaning: str = "") -> Arg:
    """A buffer argument."""
    return Arg("buffer", name, elements, role, meaning or name.rpartition(".")[2])


def scalars(kind: ArgKind, **values: float) -> tuple[Arg, ...]:
    """Arguments of one type by name, in order."""
    return tuple(Arg(kind, value, name=name) for name, value in values.items())


def launch(
    of: Named,
    direction: Literal["fwd", "bwd"],
    program: str,
    arguments: str,
    kernel: str,
    grid: Extent,
    workgroup: Extent,
    args: tuple[Arg, ...],
    note: str = "",
) -> Launch:
    """One launch of a kernel from source."""
    return Launch(of.name, of.kind, direction, program, arguments, kernel, grid, workgroup, args, note)


def fill(of: Named, direction: Literal["fwd", "bwd"], target: Arg, value: float = 0.0) -> Launch:
    """MIOpen's set-tensor over a whole packed buffer (``SetTensor``)."""
    items = set_items(target.elements)
    args = (target, *floats(value=value), *ints(offset=0, stride=1, elements=target.elements))
    return launch(
        of,
        direction,
        "MIOpenSubTensorOpWithScalarKernel.cl",
        set_arguments(target.elements),
        "SubTensorOpWithScalar1d",
        (items, 1, 1),
        (min(GROUP, items), 1, 1),
        args,
    )


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
    of: Named,
    direction: Literal["fwd", "bwd"],
    source: tuple[Arg, int, int],
    target: tuple[Arg, int, int],
    lengths: tuple[int, int],
    note: str = "",
) -> Launch:
    """MIOpen's copy of rows (``CopyTensor``): in one dimension where there is one row.

    Args:
        source, target: buffer, where its rows begin, elements from row to row.
        lengths: rows and elements of each.
    """
    flat = lengths[1:] if lengths[0] == 1 else lengths
    sizes = worker_sizes(flat)
    items = prod(sizes)
    dimensions = range(len(flat))

    def side(which: str, given: tuple[Arg, int, int], with_lengths: bool) -> tuple[Arg, ...]:
        memory, offset, pitch = given
        strides = (pitch, 1)[-len(flat) :]
        numbers = {f"{which}_offset": offset} | {f"{which}_stride_{i}": strides[i] for i in dimensions}
        if with_lengths:
            numbers |= {f"length_{i}": flat[i] for i in dimensions}
        return (memory, *ints(**numbers))

    work = "".join(f" -DWORK_LENGTH_{i}={sizes[i]}" for i in dimensions)
    return launch(
        of,
        direction,
        "MIOpenSubTensorOpWithSubTensorKernel.cl",
        f" -DSUBTENSOR_OP_WITH_SUBTENSOR=SUBTENSOR_OP_WITH_SUBTENSOR_COPY{FP32_ALL}{work}",
        f"SubTensorOpWithSubTensor{len(flat)}d",
        (items, 1, 1),
        (min(GROUP, items), 1, 1),
        (*side("source", source, True), *side("target", target, False)),
        note,
    )
