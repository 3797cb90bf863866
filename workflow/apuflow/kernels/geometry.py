"""Grids and workgroups that gem5 does not run, whatever the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator

from apuflow.core.gpus import Isa
from apuflow.kernels.metadata import Kernel
from apuflow.kernels.program import OwnLaunch


def geometry_problems(kernel: Kernel, launch: OwnLaunch, isa: Isa) -> Iterator[str]:
    """Why gem5 would not run a kernel with this grid and workgroup."""
    items, wave = math.prod(launch.workgroup), isa.wave_size
    if kernel.wave_size != wave:
        yield f"it is compiled for wavefronts of {kernel.wave_size}; gem5's have {wave}"
    if items > kernel.largest_workgroup:
        yield f"a workgroup has {items} work-items, it is compiled for at most {kernel.largest_workgroup}"
    if kernel.dynamic_stack:
        yield "its private memory is not known before it runs (recursion, or a call through a pointer)"
    if kernel.private_bytes and items % wave:
        yield (
            f"it uses private memory ({kernel.private_bytes} bytes a work-item), so its workgroups must be "
            f"whole wavefronts: gem5 would place them over each other; {items} is no multiple of {wave}"
        )
