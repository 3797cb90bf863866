"""Dispatch the kernels of a layer on gem5 without the ROCm runtime: program, lists, references."""

from __future__ import annotations

from apuflow.launcher.build import build_launcher
from apuflow.launcher.dispatch import Argument, Buffer, Check, Contents, Dispatch, DispatchList, Dump

__all__ = [
    "Argument",
    "Buffer",
    "Check",
    "Contents",
    "Dispatch",
    "DispatchList",
    "Dump",
    "build_launcher",
]
