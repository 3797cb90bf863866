"""Pooling: ``MIOpenPooling.cl``, ``MIOpenPoolingBwd.cl``.

Source: MIOpen ``src/ocl/mloPooling.cpp`` (compile arguments, geometry), ``pooling_ocl.cpp`` (kernel args).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import Layer, Pooling
from apuflow.miopen.launch import Arg, Buffers, Extent, Launch
from apuflow.miopen.rocm_4_0_1.common import FP32_MLO, ints

INDEX_MAX = 255
"""Largest window that the 8-bit index of max pooling backward can address."""


class Tile(NamedTuple):
    """Workgroup (group0 x group1 work-items) and outputs per work-item (pix0 x pix1); 0 is along w."""

    group0: int
    group1: int
    pix0: int
    pix1: int


def forward_tile(out_h: int, out_w: int, stride_h: int) -> Tile:
    """Tile of the forward kernel (``mloConstructFwd``)."""
    pix1 = 1 if out_h <= 8 else 4 if out_h <= 32 else 8
    if out_h > 16 and out_h % 32 > 16:
        product = pix1 * stride_h
        pix1 = min(16, max(1, 1 << (product.bit_length() - 1)))
    group0 = 8 if out_w <= 8 else 16 if out_w % 32 <= 16 else 32
    rows = 8 if out_h <= 8 else 16 if out_h < 16 else 32 if out_h <= 32 else 64 if out_h <= 64 else 128
    group1 = rows // pix1
    while group0 * group1 > 256 and group0 > 1:
        group0 //= 2
    return Tile(group0, group1, 1, pix1)


_MAX_BACKWARD = (
    (8, Tile(8, 8, 1, 1)),
    (16, Tile(4, 16, 4, 1)),
    (24, Tile(8, 8, 4, 1)),
    (32, Tile(32, 4, 1, 8)),
    (64, Tile(8, 8, 1, 8)),
    (96, Tile(16, 4, 1, 4)),
    (128, Tile(16, 16, 1, 8)),
)


def backward_tile(in_w: int, maximum: bool) -> Tile:
    """Tile of the backward kernel (``mloConstructBwd``): by the input's width."""
    if not maximum:
        return Tile(8, 8, 1, 1)
    return next((tile for width, tile in _MAX_BACKWARD if in_w <= width), Tile(32, 4, 1, 8))


def _window(params: Pooling) -> str:
    return (
        f" -DMLO_POOLING_OP_ID={1 if params.pool_mode == 'max' else 0}"
        f" -DMLO_POOLING_KERNEL_SZ1={params.kernel.h} -DMLO_POOLING_STRIDE1={params.stride.h}"
        f" -DMLO_POOLING_KERNEL_SZ0={params.kernel.w} -DMLO_POOLING_STRIDE0={params.stride.w}"
    )


def _arguments(params: Pooling, tile: Tile, prefix: str, end: str) -> str:
    return (
        f"{_window(params)} -D{prefix}_N_HORIZ_OUT_PIX={tile.pix0} -D{prefix}_N_VERT_OUT_PIX={tile.pix1}"
        f" -D{prefix}_GROUP_SZ0={tile.group0} -D{prefix}_GROUP_SZ1={tile.group1}"
        f" -DMLO_POOLING_INDEX_TYPE=uchar -DMLO_POOLING_INDEX_MAX=UCHAR_MAX{end}{FP32_MLO}"
    )


def _grid(width: int, height: int, planes: int, tile: Tile) -> Extent:
    across, down = tile.group0 * tile.pix0, tile.group1 * tile.pix1
    return -(-width // across) * tile.group0, -(-height // down) * tile.group1, planes


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], compute_units: int
) -> tuple[Launch, ...]:
    """One launch: a workgroup per tile of outputs (forward) or inputs (backward) of each plane.

    Raises:
        NotDerivable: max pooling backward over more than 255 elements, which MIOpen refuses.
    """
    params = layer.params
    assert isinstance(params, Pooling)
    n, c, h, w = layer.input
    out_h, out_w = layer.output.h, layer.output.w
    maximum = params.pool_mode == "max"
    mask = Arg("buffer", f"{buffers.own}.workspace", layer.output.elements, "in", "mask", 0, 1)
    geometry = ints(
        pad_h=params.pad.h,
        pad_w=params.pad.w,
        channels=c,
        bottom_h=h,
        bottom_w=w,
        top_h=out_h,
        top_w=out_w,
        bottom_n_stride=c * h * w,
        bottom_c_stride=h * w,
        bottom_h_stride=w,
        top_n_stride=c * out_h * out_w,
        top_c_stride=out_h * out_w,
        top_h_stride=out_w,
    )
    args: tuple[Arg, ...]
    if direction == "fwd":
        tile = forward_tile(out_h, out_w, params.stride.h)
        program, kernel = "MIOpenPooling.cl", "mloPoolingG"
        compiled = _arguments(params, tile, "MLO_POOLING", "")
        grid = _grid(out_w, out_h, n * c, tile)
        args = (
            Arg("buffer", buffers.bottom, layer.input.elements, "in", "x"),
            Arg("buffer", buffers.top, layer.output.elements, "out", "y"),
            mask,
        )
    else:
        if maximum and params.kernel.h * params.kernel.w > INDEX_MAX:
            raise NotDerivable(
                f"max pooling backward over {params.kernel.h}x{params.kernel.w}: MIOpen refuses the layer",
                key=layer.label,
                value=params.kernel.h * params.kernel.w,
                remedy=f"make kernel_h*kernel_w at most {INDEX_MAX}, or set pool_mode=avg",
            )
        tile = backward_tile(w, maximum)
        program, kernel = "MIOpenPoolingBwd.cl", "mloPoolingMaxBwd" if maximum else "mloPoolingAveBwd"
        compiled = _arguments(params, tile, "MLO_POOLBWD", " -DUSE_IMG_INDEX=0")
        grid = _grid(w, h, n * c, tile)
        args = (
            Arg("buffer", buffers.top_diff, layer.output.elements, "in", "dy"),
            Arg("buffer", buffers.bottom_diff, layer.input.elements, "out", "dx"),
        )
        if maximum:
            args = (*args, mask)
    group = (tile.group0, tile.group1, 1)
    return (
        Launch(
            layer.label,
            layer.kind,
            direction,
            program,
            compiled,
            kernel,
            grid,
            group,
            args + geometry,
        ),
    )
