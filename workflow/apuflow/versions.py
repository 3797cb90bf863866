"""Versions of what this project computes itself; importable without the engines."""

from __future__ import annotations

PREVIEW = "2"
"""Of the timing model: raised whenever its numbers change. Part of a preview point's identity and path."""
