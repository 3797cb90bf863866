"""The engines by name, and what everyone may know of them. What they do stands in ``apuflow.engines``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

EngineName: TypeAlias = Literal["gem5", "gem5-kernels", "preview"]

PREVIEW_VERSION: Final = "6"
"""Of the timing model: raised whenever its numbers change. Part of a preview point's identity and path."""

KERNELS_VERSION: Final = "2"
"""Of gem5-kernels: raised when guest or stand-in kernel changes results. Part of a point's identity."""


@dataclass(frozen=True)
class EngineFacts:
    """An engine, as figures, reports and paths need to know it.

    Attributes:
        title: how figures and reports name it.
        version: of an engine that is part of this project; None for one that is not.
        simulates: each point is a run of gem5 with a directory of its own; else all points of a workload are
            one batch.
        own_kernels_only: its statistics hold nothing but the kernels of the layer.
        tells_kernels: its results can be shown kernel by kernel.
        own_products: its matrix products are this project's own kernels; else rocBLAS'.
    """

    title: str
    version: str | None
    simulates: bool
    own_kernels_only: bool
    tells_kernels: bool
    own_products: bool


ENGINES: Final[Mapping[EngineName, EngineFacts]] = MappingProxyType(
    {
        "gem5": EngineFacts("gem5 (whole program)", None, True, False, False, False),
        "gem5-kernels": EngineFacts(
            "gem5-kernels (only the layer's kernels)", KERNELS_VERSION, True, True, True, True
        ),
        "preview": EngineFacts("preview (timing model, not gem5)", PREVIEW_VERSION, False, False, True, True),
    }
)
"""In the order of tables and figures."""


def is_batch(name: str) -> bool:
    """Whether a row's engine is one whose points are a batch. A name that is not known: no."""
    facts = ENGINES.get(name)  # type: ignore[call-overload]
    return facts is not None and not facts.simulates


SIMULATING: Final[tuple[EngineName, ...]] = tuple(name for name, facts in ENGINES.items() if facts.simulates)
"""Engines that run gem5."""
