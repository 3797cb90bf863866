"""Labels: what sets a point apart from the release's defaults, readable and safe as a file name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from apuflow.core.scalar import Scalar

LABEL_LENGTH = 100
"""Longest label; with the identity behind it, it must stay a file name."""


def option_parts(release: str, changed: Mapping[str, Scalar], compute_units: int) -> tuple[str, ...]:
    """``v23.0``, ``u8``, ``num-tccs4``, ``dgpu``: release, compute units, and what else differs.

    Left out: ``mem-size``, which follows the workload, and ``cu-per-sa`` where it follows the compute units.
    """
    parts = [release, f"u{compute_units}"]
    for name, value in changed.items():
        if name in ("num-compute-units", "mem-size") or (name == "cu-per-sa" and value == compute_units):
            continue
        parts.append(name if value is True else value_part(name, value))
    return tuple(parts)


def value_part(name: str, value: Scalar) -> str:
    """Name and value as part of a file name."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return name + re.sub(r"[^A-Za-z0-9._-]", "-", text)


def join(*parts: str) -> str:
    """The parts as one label, cut to a length that file systems take."""
    return "_".join(part for part in parts if part)[:LABEL_LENGTH].rstrip("_-.")
