"""Dispatch the kernels of a layer on gem5 without the ROCm runtime: program, lists, references."""

from __future__ import annotations

from apuflow.launcher.build import build_launcher
from apuflow.launcher.dispatch import Argument, Buffer, Check, Contents, Dispatch, DispatchList, Dump

VERSION = "1"
"""Part of a gem5-kernels point's identity: raised when the guest or the stand-in kernel changes results."""

__all__ = [
    "VERSION",
    "Argument",
    "Buffer",
    "Check",
    "Contents",
    "Dispatch",
    "DispatchList",
    "Dump",
    "build_launcher",
]
