"""The type of a single value: of an option, an axis or a key of a layer."""

from __future__ import annotations

from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str
"""A single value of YAML, JSON or a command line; ``Scalar | None`` if it may be missing."""
