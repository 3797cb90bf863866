"""Launches of fewer workgroups, from which the whole is extrapolated: a sweep's key ``workgroups``."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from apuflow.configure.base import Model

KEY: Final = "workgroups"
"""Of the sweep, and of the content of a point's identity."""


class FewerWorkgroups(Model):
    """Launch the first workgroups of large grids, and extrapolate the whole; `{}`: with these defaults."""

    fills: int = Field(
        8,
        ge=4,
        le=100,
        description="launch as many workgroups as fill the machine this many times; launches that are hardly "
        "larger run whole",
    )


def label_part(workgroups: FewerWorkgroups | None) -> str:
    """What sets such a point apart, as part of its label."""
    return "" if workgroups is None else f"fills{workgroups.fills}"
