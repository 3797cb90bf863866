"""Compile arguments that several kernels share."""

from __future__ import annotations

from functools import lru_cache

from apuflow.miopen.launch import Arg

FP32 = " -DMIOPEN_USE_FP16=0 -DMIOPEN_USE_FP32=1"
FP32_MLO = " -DMIOPEN_USE_FP32=1 -DMIOPEN_USE_FP16=0"
"""The order of ``mlo_dir_conv.cpp`` (pooling, LRN)."""
FP32_ALL = (
    f"{FP32} -DMIOPEN_USE_INT8=0 -DMIOPEN_USE_INT8x4=0 -DMIOPEN_USE_BFP16=0"
    " -DMIOPEN_USE_INT32=0 -DMIOPEN_USE_RNE_BFLOAT16=1"
)
"""``GetDataTypeKernelParams`` (``datatype.hpp``)."""


def read_unit(elements: int) -> int:
    """Floats that a work-item reads at once: the largest of 4, 2, 1 that divides ``elements``."""
    return 4 if elements % 4 == 0 else 2 if elements % 2 == 0 else 1


def read_type(unit: int) -> str:
    """Type macro of ``unit`` floats."""
    return "_FLOAT" if unit == 1 else f"_FLOAT{unit}"


def ints(**values: int) -> tuple[Arg, ...]:
    """Int arguments by name, in order."""
    return tuple(map(_int, values, values.values()))


@lru_cache(maxsize=65536)
def _int(name: str, value: int) -> Arg:
    """Cached, because layers share most of their arguments."""
    return Arg("int", value, 0, "", name)


def floats(**values: float) -> tuple[Arg, ...]:
    """Float arguments by name, in order."""
    return tuple([Arg("float", value, 0, "", name) for name, value in values.items()])
