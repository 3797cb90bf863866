"""Launches as a program asks for them, and what a GPU without a runtime does not take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from apuflow.capture.journal import Module
from apuflow.capture.protocol import LAUNCH
from apuflow.core.errors import EngineError
from apuflow.core.gpus import Isa
from apuflow.kernels.launches import hidden_values
from apuflow.kernels.metadata import GEOMETRY, IGNORED, LDS_POINTER, Kernel
from apuflow.miopen.launch import Extent

LARGEST_WORKGROUP: Final = 1024
_HOST_CALLS: Final[Mapping[str, str]] = {
    "hidden_hostcall_buffer": "printf or assert",
    "hidden_printf_buffer": "printf",
    "hidden_heap_v1": "malloc or new",
    "hidden_default_queue": "enqueue_kernel",
    "hidden_multigrid_sync_arg": "grid.sync() of cooperative groups",
}
"""Hidden arguments behind which a runtime would be, and what a kernel does with them."""


class Asked(NamedTuple):
    """A launch that a program asks for.

    Attributes:
        grid, workgroup: work-items. lds: bytes beside the kernel's own.
        offset: of the first work-item's numbers.
        block: the arguments, hidden ones included.
    """

    module: Module
    kernel: Kernel
    grid: Extent
    workgroup: Extent
    lds: int
    offset: Extent
    block: bytes

    def problem(self, isa: Isa) -> str:
        """Why a GPU does not take it; "": it does."""
        kernel, grid, workgroup, lds = self.kernel, self.grid, self.workgroup, self.lds
        items, most = math.prod(workgroup), min(kernel.largest_workgroup, LARGEST_WORKGROUP)
        if not items or not math.prod(grid):
            return f"a grid of {grid} work-items in workgroups of {workgroup}"
        if items > most:
            return f"a workgroup has {items} work-items, the kernel takes at most {most}"
        if kernel.lds_bytes + lds > isa.lds_bytes:
            return f"{kernel.lds_bytes + lds:,} bytes of LDS; a compute unit has {isa.lds_bytes:,}"
        return ""


def read_asked(module: Module, kernel: Kernel, payload: bytes) -> Asked:
    """The launch of a request; its hidden arguments follow from its geometry."""
    _, lds, *sizes = LAUNCH.unpack_from(payload)
    grid, workgroup, offset = (_extent(sizes[at : at + 3]) for at in (0, 3, 6))
    block = bytearray(payload[LAUNCH.size :].ljust(kernel.argument_bytes, b"\0"))
    hidden = hidden_values(grid, workgroup, lds, offset) if all(workgroup) else {}
    for each in kernel.parameters:
        if each.hidden:
            value = hidden.get(each.kind, 0)
            block[each.offset : each.offset + each.size] = value.to_bytes(each.size, "little")
    return Asked(module, kernel, grid, workgroup, lds, offset, bytes(block))


def _extent(sizes: list[int]) -> Extent:
    x, y, z = sizes
    return x, y, z


def parameter_kind(kind: str) -> int:
    """``enum parameter`` of a kind of argument."""
    kinds = ("by_value", "global_buffer", LDS_POINTER)
    return kinds.index(kind) if kind in kinds else len(kinds)


def check_kernel(kernel: Kernel) -> None:
    """Raise EngineError for a kernel that needs a runtime while it runs."""
    for each in kernel.parameters:
        if each.kind in _HOST_CALLS:
            raise EngineError(
                f"{kernel.name} uses {_HOST_CALLS[each.kind]}, which a GPU without a runtime does not have",
                value=each.kind,
                remedy="leave it out of the kernel; without optimization the compiler may claim it wrongly: "
                "build with -O1 or more",
            )
        if each.hidden and each.kind not in GEOMETRY | IGNORED:
            message = f"{kernel.name} wants {each.kind}, which only a runtime has"
            raise EngineError(message, value=each.kind, remedy="change the kernel")
