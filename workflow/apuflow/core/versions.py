"""Versions of what this project computes itself; importable without the engines."""

from __future__ import annotations

PREVIEW = "6"
"""Of the timing model: raised whenever its numbers change. Part of a preview point's identity and path."""

KERNELS = "2"
"""Of gem5-kernels: raised when guest or stand-in kernel changes results. Part of a point's identity."""

ENGINES = {"preview": PREVIEW, "gem5-kernels": KERNELS}
"""By engine of this project's own."""
