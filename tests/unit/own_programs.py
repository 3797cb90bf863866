"""Programs of own kernels, made by hand, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apuflow.kernels.metadata import Kernel, Parameter
from apuflow.kernels.program import Code, Fill, Given, OwnBuffer, OwnLaunch, OwnProgram


def kernel(*parameters: Parameter, name: str = "k", **facts: Any) -> Kernel:
    """A kernel with these arguments."""
    end = max((each.offset + each.size for each in parameters), default=0)
    known = {
        "argument_bytes": end,
        "lds_bytes": 0,
        "private_bytes": 0,
        "vector_registers": 8,
        "scalar_registers": 16,
        "largest_workgroup": 1024,
        "wave_size": 64,
        "spilled": 0,
        "dynamic_stack": False,
    }
    return Kernel(name=name, parameters=parameters, **{**known, **facts})


def program(*arguments: Given, **facts: Any) -> OwnProgram:
    """One launch of kernel k on 128 work-items in groups of 64, with a float buffer ``a`` of 100 elements."""
    known: dict[str, Any] = {
        "name": "own",
        "buffers": (OwnBuffer("a", "float", 100, Fill("uniform", (3,))),),
        "launches": (OwnLaunch(Code(Path("k.cl")), "k", (128, 1, 1), (64, 1, 1), arguments),),
    }
    return OwnProgram(**{**known, **facts})
