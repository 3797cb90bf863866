"""The engines by name, and facts of them for all packages. ``apuflow.engines`` implements them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

EngineName: TypeAlias = Literal["gem5", "gem5-kernels", "preview"]
PREVIEW_VERSION: Final = "39"
"""Version of the timing model, raised when its numbers change. Part of a point's identity and path."""
PREVIEW_RELEASE: Final = "v23.0"
"""The gem5 release that the timing model reproduces and was measured on."""
KERNELS_VERSION: Final = "2"
"""Version of gem5-kernels, raised when guest or stand-in change results; part of a point's identity."""


@dataclass(frozen=True)
class EngineFacts:
    """Facts of an engine for figures, reports and paths.

    Attributes:
        title: its name in figures and reports.
        explanation: what a reader of its numbers must know, in one or two sentences.
        version: version of an engine of this project; None for others.
        simulates: each point is a run of gem5 with its own directory; else a workload's points are one batch.
        own_kernels_only: its statistics cover only the layer's kernels.
        tells_kernels: it has results for each kernel.
        own_products: its matrix products are this project's own kernels; else rocBLAS'.
    """

    title: str
    explanation: str
    version: str | None = None
    simulates: bool = True
    own_kernels_only: bool = False
    tells_kernels: bool = False
    own_products: bool = False


ENGINES: Final[Mapping[EngineName, EngineFacts]] = MappingProxyType(
    {
        "gem5": EngineFacts(
            title="gem5 (whole program)",
            explanation="The DNNMark program itself under apu_se.py, the ROCm runtime included.",
        ),
        "gem5-kernels": EngineFacts(
            title="gem5-kernels (just the kernels)",
            explanation="Just the kernels on gem5, started without ROCm: no host side. Column products names "
            "the kernels of matrix products.",
            version=KERNELS_VERSION,
            own_kernels_only=True,
            tells_kernels=True,
            own_products=True,
        ),
        "preview": EngineFacts(
            title="preview (timing model, not gem5)",
            explanation="A closed-form timing model of the machine that apu_se.py configures. None of its "
            "numbers comes from gem5.",
            version=PREVIEW_VERSION,
            simulates=False,
            tells_kernels=True,
            own_products=True,
        ),
    }
)
"""In the order of tables and figures."""
_BY_NAME: Final[Mapping[str, EngineFacts]] = {str(name): facts for name, facts in ENGINES.items()}


def engine_facts(name: str) -> EngineFacts:
    """The facts of an engine by the name in a table or record; of an unknown one only its name."""
    return _BY_NAME.get(name) or EngineFacts(name, "")


def is_batch(name: str) -> bool:
    """Whether the points of an engine are a batch; False for an unknown name."""
    return not engine_facts(name).simulates


SIMULATING: Final[tuple[EngineName, ...]] = tuple(name for name, facts in ENGINES.items() if facts.simulates)
"""Engines that run gem5."""
