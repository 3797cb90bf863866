"""Traps that a network's text does not show: what aborts, what crashes, what runs and misleads.

Source: DNNMark ``core/include`` (HIP branches) and MIOpen rocm-4.0.1, named per check.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from apuflow.core.gpus import gpu
from apuflow.dnnmark.layers import (
    LRN,
    BatchNorm,
    Convolution,
    Direction,
    Dropout,
    Layer,
    Network,
    Pooling,
    Problem,
    Softmax,
)
from apuflow.dnnmark.memory import filled_chunks, workspace_bytes

Trap: TypeAlias = tuple[Literal["error", "warning"], str, str]
"""Level, what happens, what to do."""
MOST_WORKSPACE_BYTES = 7_287_183_769
"""Largest workspace that MIOpen asks for."""
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
        problems += (
            Problem(level, label(layer), text, fix) for level, text, fix in _layer(layer, direction, gfx)
        )
    return tuple(problems)


def label(layer: Layer) -> str:
    """The layer's name, or its kind where it has none."""
    return layer.name or layer.kind


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
            label(network.layers[handles]),
            f"{count} layers, but the program makes {handles} handles: layer {handles + 1} reads past them",
            "use a program with more handles (composed 3, alexnet 21, vgg 58) or run_mode=standalone",
        )
    for layer, what, elements in filled_chunks(network, direction):
        if elements >= INT_ELEMENTS:
            yield Problem(
                "error",
                label(layer),
                f"{what} of {elements} elements: DNNMark counts in a C int and overflows at {INT_ELEMENTS}",
                "make the batch or the layer smaller",
            )


def _layer(layer: Layer, direction: Direction, gfx: str | None) -> Iterator[Trap]:
    params = layer.params
    if isinstance(params, Convolution):
        yield from _convolution(layer, params, direction, gfx)
    elif isinstance(params, Pooling):
        yield from _pooling(params, direction)
    elif isinstance(params, BatchNorm) and not params.save_intermediates:
        yield (
            "error",
            "save_intermediates=false: DNNMark calls Get() on a null pointer (bn_layer.h) and crashes",
            "set save_intermediates=true",
        )
    elif isinstance(params, LRN) and params.refused:
        yield ("error", "k=0: MIOpen refuses it (Expect non-zero bias/K)", "set k to 1.0 or 2.0")
    elif isinstance(params, Dropout):
        yield (
            "error",
            "dropout is not implemented for HIP: no kernel runs, and DNNMark reads uninitialised sizes "
            "(dropout_layer.h), so it may crash or allocate at random",
            "leave the layer out",
        )
    elif isinstance(params, Softmax) and not (
        params.softmax_algo in ("", "accurate") and params.softmax_mode in ("", "channel")
    ):
        yield (
            "warning",
            "softmax_algo and softmax_mode have no effect on HIP: accurate, over channels, is what runs",
            "write accurate and channel",
        )


def _convolution(layer: Layer, params: Convolution, direction: Direction, gfx: str | None) -> Iterator[Trap]:
    if params.transposed:
        if layer.input.c != params.num_output:
            yield (
                "error",
                f"conv_mode={params.conv_mode} is MIOpen's transposed convolution on HIP, which needs "
                f"c ({layer.input.c}) = num_output ({params.num_output}): Setup aborts before any kernel",
                "set conv_mode=cross_correlation",
            )
        else:
            yield (
                "warning",
                f"conv_mode={params.conv_mode} is MIOpen's transposed convolution on HIP: forward runs the "
                "kernels of a plain convolution's backward data, and the other way round",
                "set conv_mode=cross_correlation for a plain convolution",
            )
    columns = max(workspace_bytes(layer))
    if columns > MOST_WORKSPACE_BYTES:
        yield (
            "error",
            f"its column matrix takes {columns} bytes: above {MOST_WORKSPACE_BYTES} MIOpen asks for no "
            "workspace and the kernel writes to address 0 (convolution.cpp, MAX_MEM_ALLOC_SZ)",
            "make the image, the kernel or the number of channels smaller",
        )
    if gfx is not None and gpu(gfx).winograd_workspace and _winograd_sized(layer, params):
        yield (
            "warning",
            f"on {gfx} MIOpen sizes the workspace for Winograd, which DNNMark does not run, and "
            "that may be too small for it (convolution.cpp, IsWinograd3x3SupportedAndFast)",
            "use gfx801, another kernel size, or fewer than 16 channels",
        )
    if direction in ("bwd", "both") and params.propagation:
        yield (
            "warning",
            "backward data writes into the layer's input instead of its gradient (conv_layer.h)",
            "expect the same kernels; do not use the gradient's values",
        )


def _winograd_sized(layer: Layer, params: Convolution) -> bool:
    window = (params.kernel_h, params.kernel_w, params.pad_h, params.pad_w, params.stride_h, params.stride_w)
    channels = (layer.input.c, params.num_output)
    return window == (3, 3, 1, 1, 1, 1) and all(count >= 16 and count % 2 == 0 for count in channels)


def _pooling(params: Pooling, direction: Direction) -> Iterator[Trap]:
    if direction == "fwd" or params.pool_mode != "max":
        return
    window = params.kernel_h * params.kernel_w
    if window > 255:
        yield (
            "error",
            f"max pooling backward over {params.kernel_h}x{params.kernel_w}: MIOpen's 8-bit index ends at "
            "255 (pooling_ocl.cpp)",
            "make kernel_h*kernel_w at most 255, or set pool_mode=avg",
        )
    yield (
        "warning",
        "max pooling backward reads an index that DNNMark's forward pass never saves (do_backward=false)",
        "expect the same kernel and traffic; do not use the gradient's values",
    )
