"""Pooling and local response normalisation: ``MIOpenPooling{,Bwd}.cl``, ``MIOpenLRN{Fwd,Bwd}.cl``.

Source: MIOpen ``src/ocl/mloPooling.cpp``, ``mloNorm.cpp`` (compile arguments, geometry), ``pooling_ocl.cpp``,
``lrn_ocl.cpp`` (kernel arguments).
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import LRN, Pooling, Shape
from apuflow.miopen.launch import Arg, Extent, Launch, LayerPass
from apuflow.miopen.rocm_4_0_1.common import FP32_MLO, floats, ints, read_type, read_unit

INDEX_MAX = 255
"""Largest window that the 8-bit index of max pooling backward can address."""


class Tile(NamedTuple):
    """Workgroup (group0 x group1 work-items) and outputs per work-item (pix0 x pix1); 0 is along w."""

    group0: int
    group1: int
    pix0: int
    pix1: int

    @property
    def group(self) -> Extent:
        """The workgroup."""
        return self.group0, self.group1, 1

    def grid(self, w: int, h: int, planes: int) -> Extent:
        """Work-items for planes of this size."""
        across, down = self.group0 * self.pix0, self.group1 * self.pix1
        return -(-w // across) * self.group0, -(-h // down) * self.group1, planes


# pooling --------------------------------------------------------------------------------------------------
def pooling_forward_tile(out_h: int, out_w: int, stride_h: int) -> Tile:
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


def pooling_backward_tile(in_w: int, maximum: bool) -> Tile:
    """Tile of the backward kernel (``mloConstructBwd``): by the input's width."""
    if not maximum:
        return Tile(8, 8, 1, 1)
    return next((tile for width, tile in _MAX_BACKWARD if in_w <= width), Tile(32, 4, 1, 8))


def pooling_arguments(params: Pooling, tile: Tile, forward: bool) -> str:
    """Compile arguments of both kernels."""
    prefix, end = ("MLO_POOLING", "") if forward else ("MLO_POOLBWD", " -DUSE_IMG_INDEX=0")
    return (
        f" -DMLO_POOLING_OP_ID={1 if params.pool_mode == 'max' else 0}"
        f" -DMLO_POOLING_KERNEL_SZ1={params.kernel.h} -DMLO_POOLING_STRIDE1={params.stride.h}"
        f" -DMLO_POOLING_KERNEL_SZ0={params.kernel.w} -DMLO_POOLING_STRIDE0={params.stride.w}"
        f" -D{prefix}_N_HORIZ_OUT_PIX={tile.pix0} -D{prefix}_N_VERT_OUT_PIX={tile.pix1}"
        f" -D{prefix}_GROUP_SZ0={tile.group0} -D{prefix}_GROUP_SZ1={tile.group1}"
        f" -DMLO_POOLING_INDEX_TYPE=uchar -DMLO_POOLING_INDEX_MAX=UCHAR_MAX{end}{FP32_MLO}"
    )


def pooling(work: LayerPass) -> tuple[Launch, ...]:
    """One launch: a workgroup per tile of outputs (forward) or inputs (backward) of each plane.

    Raises:
        NotDerivable: max pooling backward over more than 255 elements, which MIOpen refuses.
    """
    layer, params = work.layer, work.layer.params
    assert isinstance(params, Pooling)
    n, c, h, w = layer.input
    out_h, out_w = layer.output.h, layer.output.w
    maximum, window = params.pool_mode == "max", params.kernel.h * params.kernel.w
    mask = work.own("workspace", layer.output.elements, "in", "mask")._replace(element_bytes=1)
    memory: tuple[Arg, ...] = (work.x, work.y, mask)
    if work.forward:
        program, kernel = "MIOpenPooling.cl", "mloPoolingG"
        tile = pooling_forward_tile(out_h, out_w, params.stride.h)
        grid = tile.grid(out_w, out_h, n * c)
    elif maximum and window > INDEX_MAX:
        raise NotDerivable(
            f"max pooling backward over {params.kernel.h}x{params.kernel.w}: MIOpen refuses the layer",
            key=layer.label,
            value=window,
            remedy=f"make kernel_h*kernel_w at most {INDEX_MAX}, or set pool_mode=avg",
        )
    else:
        program, kernel = "MIOpenPoolingBwd.cl", "mloPoolingMaxBwd" if maximum else "mloPoolingAveBwd"
        memory = (work.dy, work.dx, mask)[: 3 if maximum else 2]
        tile = pooling_backward_tile(w, maximum)
        grid = tile.grid(w, h, n * c)
    args = (
        *memory,
        *ints(pad_h=params.pad.h, pad_w=params.pad.w, channels=c),
        *ints(bottom_h=h, bottom_w=w, top_h=out_h, top_w=out_w),
        *ints(bottom_n_stride=c * h * w, bottom_c_stride=h * w, bottom_h_stride=w),
        *ints(top_n_stride=c * out_h * out_w, top_c_stride=out_h * out_w, top_h_stride=out_w),
    )
    compiled = pooling_arguments(params, tile, work.forward)
    return (work.launch(program, compiled, kernel, grid, tile.group, args),)


# local response normalisation -----------------------------------------------------------------------------
def lrn_forward_plan(shape: Shape, cross: bool, compute_units: int) -> tuple[Tile, int, int]:
    """Tile, floats of a read and reads of a plane of the forward kernel.

    Only this plan depends on the number of compute units: across channels, a launch of at most 8 wavefronts
    per compute unit reads narrower (``mloConstructFwd``).
    """
    n, _, h, w = shape
    plane = h * w
    if not cross:
        return Tile(8 if w <= 16 else 16, 8, 1 if w <= 8 else 2, 1 if h <= 8 else 2), 4, (plane + 3) // 4
    unit = read_unit(plane)
    if (n * (plane // unit) + 63) // 64 <= compute_units * 8:
        unit = 2 if plane % 2 == 0 else 1
    return Tile(64, 1, 1, 1), unit, plane // unit


def lrn_backward_tile(h: int, w: int, cross: bool) -> Tile:
    """Tile of the backward kernel (``mloConstructBwd``)."""
    if cross:
        return Tile(8 if w <= 8 else 16, 8 if h <= 8 else 16, 1, 1)
    return Tile(8, 8, 1 if w <= 8 else 2 if w <= 16 else 4, 1 if h <= 8 else 2 if h <= 16 else 4)


def _strides(names: str, batch: int, channel: int, row: int) -> str:
    return "".join(
        f" -DMLO_LRN_{name}_BATCH_STRIDE={batch} -DMLO_LRN_{name}_CHANNEL_STRIDE={channel}"
        f" -DMLO_LRN_{name}_STRIDE={row}"
        for name in names.split()
    )


def _common(shape: Shape) -> str:
    """Strides and sizes of input and output."""
    _, c, h, w = shape
    sizes = "".join(f" -DMLO_LRN_{name}_WIDTH={w} -DMLO_LRN_{name}_HEIGHT={h}" for name in ("BOT", "TOP"))
    return _strides("BOT TOP", c * h * w, h * w, w) + sizes


def lrn_forward_arguments(shape: Shape, area: int, cross: bool, compute_units: int) -> str:
    """Compile arguments of the forward kernel."""
    n, c, h, w = shape
    tile, unit, units = lrn_forward_plan(shape, cross, compute_units)
    pre = (area - 1) // 2
    pad = area - pre - 1
    across, down = tile.group0 * tile.pix0, tile.group1 * tile.pix1
    whole = units * unit == h * w
    left = 0 if whole else h * w - (units - 1) * unit
    return (
        f" -DMLO_LRN_KERNEL_SZ={area} -DMLO_LRN_PAD={pad} -DMLO_LRN_KERNEL_SZ1={area} -DMLO_LRN_PAD1={pad}"
        f" -DMLO_LRN_KERNEL_SZ0={area} -DMLO_LRN_PAD0={pad} -DMLO_LRN_PRE_PAD={pre} -DMLO_LRN_PRE_PAD1={pre}"
        f" -DMLO_LRN_PRE_PAD0={pre} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_N_INPUTS={c}"
        f" -DMLO_LRN_N_HORIZ_OUT_PIX={tile.pix0} -DMLO_LRN_N_VERT_OUT_PIX={tile.pix1}"
        f" -DMLO_LRN_GROUP_SZ0={tile.group0} -DMLO_LRN_GROUP_SZ1={tile.group1}"
        f" -DMLO_LRN_GROUP_LG2SZ0={tile.pix0 - 1} -DMLO_LRN_GROUP_LG2SZ1={tile.pix1 - 1}"
        f"{_common(shape)}{_strides('SCALE', c * h * w, h * w, w)}{_strides('TOPDF BOTDF', 1, 1, 1)}"
        f" -DMLO_LRN_BATCH_SZ={n} -DMLO_LRN_N_INPUTS={c} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_DO_SCALE=1"
        f" -DMLO_OUT_VERT_ALIGNED={int(h % down == 0)} -DMLO_OUT_HORIZ_ALIGNED={int(w % across == 0)}"
        f" -DMLO_MAP_SZ4={units} -DMLO_C1x1_PIXLEFT={left} -DMLO_DIVBY4={int(whole)}"
        f" -DMLO_READ_TYPE={read_type(unit)} -DMLO_READ_UNIT={unit}{FP32_MLO}"
    )


def lrn_backward_arguments(shape: Shape, area: int, tile: Tile) -> str:
    """Compile arguments of the backward kernel."""
    n, c, h, w = shape
    pre = (area - 1) // 2
    log0, log1 = tile.group0.bit_length() - 1, tile.group1.bit_length() - 1
    return (
        f" -DMLO_LRN_KERNEL_SZ={area} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_N_CHANNELS={c}"
        f" -DMLO_LRN_PAD={area - pre - 1} -DMLO_LRN_PRE_PAD={pre}"
        f" -DMLO_LRN_N_HORIZ_OUT_PIX={tile.pix0} -DMLO_LRN_N_VERT_OUT_PIX={tile.pix1}"
        f" -DMLO_LRN_GROUP_SZ0={tile.group0} -DMLO_LRN_GROUP_SZ1={tile.group1}"
        f" -DMLO_LRN_GROUP_LG2SZ0={log0} -DMLO_LRN_GROUP_LG2SZ1={log1}"
        f"{_common(shape)}{_strides('SCALE TOPDF BOTDF', c * h * w, h * w, w)}"
        f" -DMLO_LRN_BATCH_SZ={n} -DMLO_LRN_N_INPUTS={c} -DMLO_LRN_N_OUTPUTS={c}{FP32_MLO}"
    )


def lrn(work: LayerPass) -> tuple[Launch, ...]:
    """One launch.

    Raises:
        NotDerivable: k=0, which MIOpen refuses.
    """
    layer, params = work.layer, work.layer.params
    assert isinstance(params, LRN)
    if params.refused:
        raise NotDerivable(
            "LRN with k=0: MIOpen refuses the layer", key=layer.label, value=params.k, remedy="set k to 1.0"
        )
    n, c, h, w = layer.input
    cross = params.lrn_mode == "cross_channel_dim1"
    alpha, beta, area = params.alpha, params.beta, params.local_size
    scale = work.own("workspace", layer.input.elements, "out" if work.forward else "in", "scale")
    args: tuple[Arg, ...]
    if work.forward:
        kernel = "MIOpenLRNAcrossChannels4" if cross else "MIOpenLRNWithinChannel_PS"
        tile, _, units = lrn_forward_plan(layer.input, cross, work.compute_units)
        compiled = lrn_forward_arguments(layer.input, area, cross, work.compute_units)
        grid = (units, 1, n) if cross else tile.grid(w, h, n * c)
        over_area = alpha / (area if cross else area * area)
        numbers = floats(alpha_over_area=over_area, alpha=alpha, beta=beta, k=params.k)
        args = (work.x, work.y, scale, *numbers)
    else:
        kernel = "MIOpenLRNAcrossChannelsBwd1" if cross else "MIOpenLRNWithinChannelBwd"
        tile = lrn_backward_tile(h, w, cross)
        compiled = lrn_backward_arguments(layer.input, area, tile)
        grid = (w, h, n) if cross else tile.grid(w, h, n * c)
        numbers = floats(ratio=2 * alpha * beta / area, alpha=alpha, beta=beta)
        args = (work.y, work.x, work.dy, scale, work.dx, *numbers)
    program = "MIOpenLRNFwd.cl" if work.forward else "MIOpenLRNBwd.cl"
    return (work.launch(program, compiled, kernel, grid, tile.group, args),)
