"""Where a layer's inputs lie when its first kernel starts: a sweep's key ``inputs``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

Inputs: TypeAlias = Literal["caches", "memory"]
"""``caches``: the simulated CPU wrote them, its caches hold the last ones. ``memory``: no cache does."""
DEFAULT: Final[Inputs] = "caches"
KEY: Final = "inputs"
"""Of the sweep, and of the content of a point's identity."""


def content_part(inputs: str) -> dict[str, str]:
    """The key's part of a point's identity: none where the CPU writes them, as it always has."""
    return {} if inputs == DEFAULT else {KEY: inputs}


def inputs_of(content: Mapping[str, Any]) -> str:
    """Where inputs lie, by the content of a point's identity or of a sweep."""
    return str(content.get(KEY, DEFAULT))


def label_part(inputs: Inputs) -> str:
    """What sets a point apart whose inputs lie in memory, as part of its label."""
    return "" if inputs == DEFAULT else "inmemory"
