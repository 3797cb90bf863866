"""What can be known of own kernels before they run: do launches, kernels and reference fit together?"""

from __future__ import annotations

from collections.abc import Iterator

from apuflow.core.errors import ApuflowError
from apuflow.core.gpus import Isa
from apuflow.kernels.arguments import argument_problems
from apuflow.kernels.geometry import geometry_problems
from apuflow.kernels.metadata import KernelsBySource, find_kernel
from apuflow.kernels.program import OwnProgram
from apuflow.kernels.reference import expected_outputs


def problems(program: OwnProgram, kernels: KernelsBySource, isa: Isa) -> Iterator[str]:
    """Everything that is wrong with a program, held against its kernels as compiled for ``isa``."""
    checked = set()
    for launch in program.launches:
        if launch in checked:
            continue
        checked.add(launch)
        try:
            kernel = find_kernel(kernels[launch.source], launch.kernel, launch.source)
        except ApuflowError as error:
            yield str(error)
            continue
        yield from (f"{launch.kernel}: {each}" for each in argument_problems(kernel, launch, program))
        yield from (f"{launch.kernel}: {each}" for each in geometry_problems(kernel, launch, isa))
    if program.reference is not None:
        try:
            expected_outputs(program)
        except ApuflowError as error:
            yield str(error)
