"""Dispatch the kernels of a layer on gem5 without the ROCm runtime: program, lists, references."""

from __future__ import annotations

from apuflow.core import versions
from apuflow.launcher.build import build_launcher
from apuflow.launcher.dispatch import Argument, Buffer, Contents, Dispatch, DispatchList, Dump

VERSION = versions.KERNELS

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
