"""From a network to the kernels it launches and the kernel objects it needs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from apuflow.core.errors import ConfigError, NotDerivable
from apuflow.dnnmark import Direction, Layer, Network
from apuflow.miopen import rocm_4_0_1
from apuflow.miopen.launch import Buffers, Builder, Launch, LayerPass, Row

DEFAULT_FORMULAS: Final = "rocm-4.0.1"
FORMULAS: Final[Mapping[str, Mapping[str, Builder]]] = {DEFAULT_FORMULAS: rocm_4_0_1.BUILDERS}
"""Formula sets by name; a release's file (``configs/gem5/``) names its set."""
BY_COMPUTE_UNITS: Final[Mapping[str, frozenset[str]]] = {DEFAULT_FORMULAS: rocm_4_0_1.BY_COMPUTE_UNITS}
"""By set, the layer kinds whose launches depend on the number of compute units; without an entry: all."""

HOW_TO_FIND: Final = (
    "run the workload with MIOPEN_LOG_LEVEL=6 in the guest's environment: MIOpen then prints 'Unable to load "
    "binary for: NAME ;args: ARGUMENTS' for each kernel that it lacks; add those with "
    "apuflow kernels --add 'NAME, ARGUMENTS'"
)
"""How to find a key that cannot be derived."""


def launches(
    network: Network, direction: Direction, compute_units: int, formulas: str = DEFAULT_FORMULAS
) -> tuple[Launch, ...]:
    """Every GPU kernel that the layers launch, in order.

    Args:
        direction: "fwd", "bwd", or "both" for programs that run forward and then backward.
        formulas: name of the formula set.

    Returns:
        one shared object for all numbers of compute units with equal launches.

    Raises:
        NotDerivable: a layer that MIOpen refuses, or an unknown formula set.
        ConfigError: an unknown direction, or no compute unit.
    """
    if direction not in ("fwd", "bwd", "both"):
        raise ConfigError("unknown direction", key="direction", value=direction, remedy="fwd, bwd or both")
    if compute_units < 1:
        units = compute_units
        raise ConfigError(
            "a GPU without compute units", key="num-compute-units", value=units, remedy="give 1 or more"
        )
    if formulas not in FORMULAS:
        raise NotDerivable(
            f"kernel keys of this MIOpen are not known; known are those of {', '.join(FORMULAS)}",
            key="miopen.formulas",
            value=formulas,
            remedy=HOW_TO_FIND,
        )
    differing = BY_COMPUTE_UNITS.get(formulas, frozenset(FORMULAS[formulas]))
    differs = any(layer.kind in differing for layer in network.layers)
    return _launches(network, direction, compute_units if differs else 1, formulas)


@functools.lru_cache(maxsize=16384)
def _launches(
    network: Network, direction: Direction, compute_units: int, formulas: str
) -> tuple[Launch, ...]:
    builders = FORMULAS[formulas]
    launches: list[Launch] = []
    for work in passes(network, direction, compute_units):
        layer = work.layer
        if layer.kind not in builders:
            raise NotDerivable(
                f"what MIOpen launches for a layer of kind {layer.kind} is not known",
                key="miopen.formulas",
                value=formulas,
                remedy=f"leave the layer {layer.label} out; known are {', '.join(builders)}",
            )
        launches += builders[layer.kind](work)
    return tuple(launches)


def passes(network: Network, direction: Direction, compute_units: int) -> Iterator[LayerPass]:
    """Layers in the order in which DNNMark runs them: forward in order, backward in reverse."""
    named = list(_named(network))
    if direction in ("fwd", "both"):
        yield from (LayerPass(layer, buffers, "fwd", compute_units) for layer, buffers in named)
    if direction in ("bwd", "both"):
        yield from (LayerPass(layer, buffers, "bwd", compute_units) for layer, buffers in reversed(named))


def _named(network: Network) -> Iterator[tuple[Layer, Buffers]]:
    """Layers with the names of their buffers, unique in the network."""
    tops: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    for number, layer in enumerate(network.layers):
        own = layer.label if layer.label not in used else f"{layer.label}#{number}"
        used.add(own)
        bottom = (
            (f"{own}.bottom", f"{own}.bottom_diff") if network.owns_input(layer) else tops[layer.previous]
        )
        tops[layer.name] = top = (f"{own}.top", f"{own}.top_diff")
        yield layer, Buffers(own, *bottom, *top)


def distinct(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Distinct rows in order of first appearance, each with its first layer."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault(row.key, row)
    return tuple(first.values())


@functools.lru_cache(maxsize=4096)
def network_rows(
    network: Network, direction: Direction, compute_units: int, formulas: str = DEFAULT_FORMULAS
) -> tuple[Row, ...]:
    """Kernel objects that a network looks up in MIOpen's cache: distinct, in launch order."""
    return distinct(
        Row(launch.program, launch.arguments, launch.layer)
        for launch in launches(network, direction, compute_units, formulas)
        if launch.program is not None and launch.arguments is not None
    )
