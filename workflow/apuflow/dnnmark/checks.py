"""Traps that a network's text does not show: what aborts, what crashes, what runs and misleads.

Those of one kind of layer stand in its class (``layers.py``).

Source: DNNMark ``core/include`` (HIP branches).
"""

from __future__ import annotations

from collections.abc import Iterator

from apuflow.dnnmark.kind import Direction
from apuflow.dnnmark.memory import filled_chunks
from apuflow.dnnmark.network import Network, Problem

INT_ELEMENTS = 2**31
"""DNNMark counts a chunk's elements in a C int."""


def check(
    network: Network, direction: Direction, handles: int | None = None, gfx: str | None = None
) -> tuple[Problem, ...]:
    """What is wrong with running ``network`` on HIP, in the order of its layers.

    Args:
        direction: which passes the program runs.
        handles: MIOpen handles that the program makes (1 for the standalone tests, 3 for the composed ones,
            21 for alexnet, 58 for VGG); None when it is not known.
        gfx: GPU architecture; None when it is not known.
    """
    problems = list(_network(network, direction, handles))
    for layer in network.layers:
        problems += layer.remarks
        traps = layer.params.traps(layer.input, layer.output, direction, gfx)
        problems += (Problem(level, layer.label, text, fix) for level, text, fix in traps)
    return tuple(problems)


def _network(network: Network, direction: Direction, handles: int | None) -> Iterator[Problem]:
    if network.run_mode == "none":
        yield Problem(
            "warning",
            "",
            "run_mode is not set: layers run one by one, and only those with previous_layer=null are filled",
            "set run_mode=standalone or composed in [DNNMark]",
        )
    count = len(network.layers)
    if network.run_mode == "composed" and handles is not None and count > handles:
        yield Problem(
            "error",
            network.layers[handles].label,
            f"{count} layers, but the program makes {handles} handles: layer {handles + 1} reads past them",
            "use a program with more handles (composed 3, alexnet 21, vgg 58) or run_mode=standalone",
        )
    for layer, what, elements in filled_chunks(network, direction):
        if elements >= INT_ELEMENTS:
            yield Problem(
                "error",
                layer.label,
                f"{what} of {elements} elements: DNNMark counts in a C int and overflows at {INT_ELEMENTS}",
                "make the batch or the layer smaller",
            )
