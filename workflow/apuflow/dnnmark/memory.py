"""Bytes that a network needs: the mmap file and device memory.

Source: DNNMark ``core/include/data_png.h`` (``GenerateUniformData``), ``data_manager.h`` and
``layers/*_layer.h``.
"""

from __future__ import annotations

from collections.abc import Iterator

from apuflow.dnnmark.kind import Direction
from apuflow.dnnmark.network import Layer, Network
from apuflow.dnnmark.shape import FLOAT_BYTES


def filled_chunks(network: Network, direction: Direction) -> Iterator[tuple[Layer, str, int]]:
    """Every chunk that DNNMark fills, as (layer, what, elements)."""
    for layer in network.layers:
        for what, elements, _ in layer.params.parameters(layer.input):
            yield layer, what, elements
        if not network.fills(layer):
            continue
        if direction in ("fwd", "both"):
            yield layer, "bottom", layer.input.elements
        if direction in ("bwd", "both"):
            for what in layer.params.fills_backward:
                yield layer, what, (layer.input if what == "bottom" else layer.output).elements


def mmap_bytes(network: Network, direction: Direction) -> int:
    """Smallest size of the ``-mmap`` file in bytes: that of the largest chunk, since the file is reused."""
    return FLOAT_BYTES * max((elements for _, _, elements in filled_chunks(network, direction)), default=0)


def device_bytes(network: Network) -> int:
    """Bytes that DNNMark allocates with ``hipHostMalloc`` before the first kernel (a lower bound).

    Data, gradients and weights of every layer are allocated whatever the direction. A workspace is sized
    in bytes and allocated as that many floats, four times too much. MIOpen returns the largest workspace of
    all convolution algorithms; only that of the one DNNMark runs (GEMM) is counted here.
    """
    elements = 0
    for layer in network.layers:
        if network.owns_input(layer):
            elements += 2 * layer.input.elements
        elements += 2 * layer.output.elements
        elements += sum(part.elements * part.tensors for part in layer.params.parameters(layer.input))
        elements += sum(layer.params.workspaces(layer.input, layer.output))
    return FLOAT_BYTES * elements
