"""Dispatch the kernels of a layer on gem5 without the ROCm runtime: program, lists, references."""

from __future__ import annotations

from apuflow.core.engines import KERNELS_VERSION
from apuflow.launcher.dispatch_list import Argument, Buffer, Contents, Dispatch, DispatchList, Dump
from apuflow.launcher.program import build_launcher

VERSION = KERNELS_VERSION

__all__ = [
    "VERSION",
    "Argument",
    "Buffer",
    "Contents",
    "Dispatch",
    "DispatchList",
    "Dump",
    "build_launcher",
]
