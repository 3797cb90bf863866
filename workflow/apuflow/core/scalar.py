"""The type of a single value: of an option, an axis or a key of a layer."""

from __future__ import annotations

from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str
"""What YAML, JSON and a command line hold as one value. Where a value may be absent: ``Scalar | None``."""
