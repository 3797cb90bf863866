"""Where a layer's inputs lie when its first kernel starts: a sweep's key ``inputs``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

Inputs: TypeAlias = Literal["caches", "memory"]
"""``caches``: the simulated CPU wrote them, its caches hold the last ones. ``memory``: no cache does."""

KEY: Final = "inputs"
"""Of the sweep, and of the content of a point's identity."""


def content_part(inputs: Inputs) -> dict[str, str]:
    """The key's part of a point's identity: none where the CPU writes them, as it always has."""
    return {} if inputs == "caches" else {KEY: inputs}


def inputs_of(content: Mapping[str, Any]) -> str:
    """Where a point's inputs lie, by its identity's content."""
    return str(content.get(KEY, "caches"))


def label_part(content: Mapping[str, Any]) -> str:
    """What sets a point apart whose inputs lie in memory, as part of its label."""
    return "inmemory" if KEY in content else ""
