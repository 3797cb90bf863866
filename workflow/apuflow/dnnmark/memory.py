"""Bytes that a network needs: the mmap file and device memory.

Source: DNNMark ``core/include/data_png.h`` (``GenerateUniformData``), ``data_manager.h`` and
``layers/*_layer.h``.
"""

from __future__ import annotations

from collections.abc import Iterator

from apuflow.dnnmark.layers import BatchNorm, Convolution, Direction, FullyConnected, Layer, Network, Pooling

FLOAT_BYTES = 4


def filled_chunks(network: Network, direction: Direction) -> Iterator[tuple[Layer, str, int]]:
    """Every chunk that DNNMark fills, as (layer, what, elements)."""
    for layer in network.layers:
        for what, elements in _parameter_chunks(layer):
            yield layer, what, elements
        if not network.fills(layer):
            continue
        if direction in ("fwd", "both"):
            yield layer, "bottom", layer.input.elements
        if direction in ("bwd", "both"):
            if layer.kind not in ("FullyConnected", "Dropout"):
                yield layer, "top", layer.output.elements
            yield layer, "top_diff", layer.output.elements
            if layer.kind != "Dropout":
                yield layer, "bottom", layer.input.elements


def mmap_bytes(network: Network, direction: Direction) -> int:
    """Smallest size of the ``-mmap`` file in bytes: that of the largest chunk, since the file is reused."""
    return FLOAT_BYTES * max((elements for _, _, elements in filled_chunks(network, direction)), default=0)


def _parameter_chunks(layer: Layer) -> Iterator[tuple[str, int]]:
    """What ``Setup`` fills, whatever the direction."""
    if isinstance(layer.params, Convolution | FullyConnected):
        yield "weights", weights_elements(layer)
    elif isinstance(layer.params, BatchNorm):
        yield "statistics", statistics_elements(layer)


def weights_elements(layer: Layer) -> int:
    """Weights of a convolution or fully connected layer."""
    if isinstance(layer.params, Convolution):
        return layer.params.num_output * layer.input.c * layer.params.kernel_h * layer.params.kernel_w
    if isinstance(layer.params, FullyConnected):
        return layer.params.num_output * layer.input.c * layer.input.h * layer.input.w
    return 0


def statistics_elements(layer: Layer) -> int:
    """Length of each of batch normalisation's vectors (scale, bias, means, variances)."""
    if not isinstance(layer.params, BatchNorm):
        return 0
    if layer.params.batchnorm_mode == "spatial":
        return layer.input.c
    return layer.input.c * layer.input.h * layer.input.w


def im2col_elements(layer: Layer) -> int:
    """Elements of one image's column matrix: ``c*kh*kw`` x ``oh*ow``; 0 when MIOpen needs none.

    Source: MIOpen ``src/convolution.cpp`` (``ForwardGetWorkSpaceSizeGEMM`` and its backward twins).
    """
    params = layer.params
    if not isinstance(params, Convolution):
        return 0
    return layer.input.c * params.kernel_h * params.kernel_w * layer.output.h * layer.output.w


def workspace_bytes(layer: Layer) -> tuple[int, ...]:
    """Workspaces that MIOpen asks for, in bytes (GEMM's for a convolution: others may ask for more)."""
    params = layer.params
    if isinstance(params, Pooling):
        return (layer.output.elements,)
    if layer.kind == "LRN":
        return (FLOAT_BYTES * layer.output.elements,)
    if isinstance(params, Convolution):
        columns = FLOAT_BYTES * im2col_elements(layer)
        pointwise = (params.kernel_h, params.kernel_w, params.pad_h, params.pad_w) == (1, 1, 0, 0)
        if pointwise and (params.stride_h, params.stride_w) == (1, 1):
            return (0, 0, 0)
        if pointwise and (params.stride_h, params.stride_w) == (2, 2):
            planes = layer.input.c + layer.output.c
            transposed = FLOAT_BYTES * layer.input.n * planes * layer.output.h * layer.output.w
            return (transposed, columns, transposed)
        return (columns, columns, columns)
    return ()


def device_bytes(network: Network, direction: Direction) -> int:
    """Bytes that DNNMark allocates with ``hipHostMalloc`` before the first kernel (a lower bound).

    Data, gradients and weights of every layer are allocated whatever the direction. A workspace is asked for
    in bytes and allocated as that many floats, four times too much. MIOpen returns the largest workspace of
    all convolution algorithms; only that of the one DNNMark runs (GEMM) is counted here.
    """
    elements = 0
    for layer in network.layers:
        if network.owns_input(layer):
            elements += 2 * layer.input.elements
        elements += 2 * layer.output.elements + 2 * weights_elements(layer)
        if isinstance(layer.params, BatchNorm):
            elements += (8 if layer.params.save_intermediates else 6) * statistics_elements(layer)
        elements += sum(workspace_bytes(layer))
    return FLOAT_BYTES * elements
