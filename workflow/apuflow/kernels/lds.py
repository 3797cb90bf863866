"""LDS whose size the launch decides: OpenCL's ``__local`` arguments, HIP's ``extern __shared__``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apuflow.kernels.metadata import LDS_POINTER, Kernel, Parameter
from apuflow.kernels.program import OwnLaunch


@dataclass(frozen=True)
class DynamicLds:
    """What a launch adds to the LDS that its kernel was compiled with.

    Attributes:
        places: by argument that points to LDS: the address that it gets, bytes from the workgroup's first.
        size: bytes in all, the gaps that alignment leaves included.
    """

    places: Mapping[Parameter, int]
    size: int


def dynamic_lds(kernel: Kernel, launch: OwnLaunch) -> DynamicLds:
    """The LDS that a launch adds: its arguments' one after the other behind the kernel's own, as ROCm does.

    ``extern __shared__`` begins where the kernel's own LDS ends, which the compiler has aligned for it.
    """
    places = {}
    end = kernel.lds_bytes
    for parameter, given in zip(kernel.given, launch.arguments, strict=False):
        if parameter.kind == LDS_POINTER and given.kind == "lds":
            places[parameter] = -(-end // parameter.alignment) * parameter.alignment
            end = places[parameter] + int(given.value)
    return DynamicLds(places, end - kernel.lds_bytes + launch.lds)
