"""Local response normalisation: ``MIOpenLRNFwd.cl``, ``MIOpenLRNBwd.cl``.

Source: MIOpen ``src/ocl/mloNorm.cpp`` (arguments, geometry), ``src/ocl/lrn_ocl.cpp`` (kernel arguments).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import LRN, Layer, Shape
from apuflow.miopen.launch import Arg, Buffers, Extent, Launch
from apuflow.miopen.rocm_4_0_1.common import FP32_MLO, floats, read_type, read_unit


class _Forward(NamedTuple):
    group0: int
    group1: int
    pix0: int
    pix1: int
    unit: int
    units: int


def forward_plan(shape: Shape, cross: bool, compute_units: int) -> _Forward:
    """Workgroup, outputs per work-item and read units of the forward kernel.

    Only this plan depends on the number of compute units: across channels, a launch of at most 8 wavefronts
    per compute unit reads narrower (``mloConstructFwd``).
    """
    n, _, h, w = shape
    plane = h * w
    if not cross:
        return _Forward(8 if w <= 16 else 16, 8, 1 if w <= 8 else 2, 1 if h <= 8 else 2, 4, (plane + 3) // 4)
    unit = read_unit(plane)
    if (n * (plane // unit) + 63) // 64 <= compute_units * 8:
        unit = 2 if plane % 2 == 0 else 1
    return _Forward(64, 1, 1, 1, unit, plane // unit)


def _strides(names: tuple[str, ...], values: tuple[int, int, int]) -> str:
    return "".join(
        f" -DMLO_LRN_{name}_BATCH_STRIDE={values[0]} -DMLO_LRN_{name}_CHANNEL_STRIDE={values[1]}"
        f" -DMLO_LRN_{name}_STRIDE={values[2]}"
        for name in names
    )


def _sizes(h: int, w: int) -> str:
    return (
        f" -DMLO_LRN_BOT_WIDTH={w} -DMLO_LRN_BOT_HEIGHT={h} -DMLO_LRN_TOP_WIDTH={w} -DMLO_LRN_TOP_HEIGHT={h}"
    )


def forward_arguments(shape: Shape, area: int, cross: bool, compute_units: int) -> str:
    """Compile arguments of the forward kernel."""
    n, c, h, w = shape
    plan = forward_plan(shape, cross, compute_units)
    pre = (area - 1) // 2
    pad = area - pre - 1
    packed = (c * h * w, h * w, w)
    across, down = plan.group0 * plan.pix0, plan.group1 * plan.pix1
    whole = plan.units * plan.unit == h * w
    left = 0 if whole else h * w - (plan.units - 1) * plan.unit
    return (
        f" -DMLO_LRN_KERNEL_SZ={area} -DMLO_LRN_PAD={pad} -DMLO_LRN_KERNEL_SZ1={area} -DMLO_LRN_PAD1={pad}"
        f" -DMLO_LRN_KERNEL_SZ0={area} -DMLO_LRN_PAD0={pad} -DMLO_LRN_PRE_PAD={pre} -DMLO_LRN_PRE_PAD1={pre}"
        f" -DMLO_LRN_PRE_PAD0={pre} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_N_INPUTS={c}"
        f" -DMLO_LRN_N_HORIZ_OUT_PIX={plan.pix0} -DMLO_LRN_N_VERT_OUT_PIX={plan.pix1}"
        f" -DMLO_LRN_GROUP_SZ0={plan.group0} -DMLO_LRN_GROUP_SZ1={plan.group1}"
        f" -DMLO_LRN_GROUP_LG2SZ0={plan.pix0 - 1} -DMLO_LRN_GROUP_LG2SZ1={plan.pix1 - 1}"
        f"{_strides(('BOT', 'TOP'), packed)}{_sizes(h, w)}{_strides(('SCALE',), packed)}"
        f"{_strides(('TOPDF', 'BOTDF'), (1, 1, 1))}"
        f" -DMLO_LRN_BATCH_SZ={n} -DMLO_LRN_N_INPUTS={c} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_DO_SCALE=1"
        f" -DMLO_OUT_VERT_ALIGNED={int(h % down == 0)} -DMLO_OUT_HORIZ_ALIGNED={int(w % across == 0)}"
        f" -DMLO_MAP_SZ4={plan.units} -DMLO_C1x1_PIXLEFT={left} -DMLO_DIVBY4={int(whole)}"
        f" -DMLO_READ_TYPE={read_type(plan.unit)} -DMLO_READ_UNIT={plan.unit}{FP32_MLO}"
    )


def backward_tile(h: int, w: int, cross: bool) -> tuple[int, int, int, int]:
    """(group0, group1, pix0, pix1) of the backward kernel (``mloConstructBwd``)."""
    if cross:
        return 8 if w <= 8 else 16, 8 if h <= 8 else 16, 1, 1
    return 8, 8, 1 if w <= 8 else 2 if w <= 16 else 4, 1 if h <= 8 else 2 if h <= 16 else 4


def backward_arguments(shape: Shape, area: int, cross: bool) -> str:
    """Compile arguments of the backward kernel."""
    n, c, h, w = shape
    group0, group1, pix0, pix1 = backward_tile(h, w, cross)
    pre = (area - 1) // 2
    packed = (c * h * w, h * w, w)
    return (
        f" -DMLO_LRN_KERNEL_SZ={area} -DMLO_LRN_N_OUTPUTS={c} -DMLO_LRN_N_CHANNELS={c}"
        f" -DMLO_LRN_PAD={area - pre - 1} -DMLO_LRN_PRE_PAD={pre}"
        f" -DMLO_LRN_N_HORIZ_OUT_PIX={pix0} -DMLO_LRN_N_VERT_OUT_PIX={pix1}"
        f" -DMLO_LRN_GROUP_SZ0={group0} -DMLO_LRN_GROUP_SZ1={group1}"
        f" -DMLO_LRN_GROUP_LG2SZ0={group0.bit_length() - 1} -DMLO_LRN_GROUP_LG2SZ1={group1.bit_length() - 1}"
        f"{_strides(('BOT', 'TOP'), packed)}{_sizes(h, w)}{_strides(('SCALE', 'TOPDF', 'BOTDF'), packed)}"
        f" -DMLO_LRN_BATCH_SZ={n} -DMLO_LRN_N_INPUTS={c} -DMLO_LRN_N_OUTPUTS={c}{FP32_MLO}"
    )


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], compute_units: int
) -> tuple[Launch, ...]:
    """One launch.

    Raises:
        NotDerivable: k=0, which MIOpen refuses.
    """
    params = layer.params
    assert isinstance(params, LRN)
    if params.refused:
        raise NotDerivable(
            "LRN with k=0: MIOpen refuses the layer", key=layer.label, value=params.k, remedy="set k to 1.0"
        )
    n, c, h, w = layer.input
    elements = layer.input.elements
    cross = params.lrn_mode == "cross_channel_dim1"
    area = params.local_size
    scale = f"{buffers.own}.workspace"
    grid: Extent
    if direction == "fwd":
        plan = forward_plan(layer.input, cross, compute_units)
        group = (plan.group0, plan.group1, 1)
        grid = (plan.units, 1, n) if cross else _tiles(h, w, n * c, (*group[:2], plan.pix0, plan.pix1))
        program = "MIOpenLRNFwd.cl"
        kernel = "MIOpenLRNAcrossChannels4" if cross else "MIOpenLRNWithinChannel_PS"
        compiled = forward_arguments(layer.input, area, cross, compute_units)
        args = (
            Arg("buffer", buffers.bottom, elements, "in", "x"),
            Arg("buffer", buffers.top, elements, "out", "y"),
            Arg("buffer", scale, elements, "out", "scale"),
            *floats(
                alpha_over_area=params.alpha / (area if cross else area * area),
                alpha=params.alpha,
                beta=params.beta,
                k=params.k,
            ),
        )
    else:
        tile = backward_tile(h, w, cross)
        group = (tile[0], tile[1], 1)
        grid = (w, h, n) if cross else _tiles(h, w, n * c, tile)
        program = "MIOpenLRNBwd.cl"
        kernel = "MIOpenLRNAcrossChannelsBwd1" if cross else "MIOpenLRNWithinChannelBwd"
        compiled = backward_arguments(layer.input, area, cross)
        args = (
            Arg("buffer", buffers.top, elements, "in", "y"),
            Arg("buffer", buffers.bottom, elements, "in", "x"),
            Arg("buffer", buffers.top_diff, elements, "in", "dy"),
            Arg("buffer", scale, elements, "in", "scale"),
            Arg("buffer", buffers.bottom_diff, elements, "out", "dx"),
            *floats(ratio=2 * params.alpha * params.beta / area, alpha=params.alpha, beta=params.beta),
        )
    return (Launch(layer.label, layer.kind, direction, program, compiled, kernel, grid, group, args),)


def _tiles(h: int, w: int, planes: int, tile: tuple[int, int, int, int]) -> Extent:
    group0, group1, pix0, pix1 = tile
    return -(-w // (group0 * pix0)) * group0, -(-h // (group1 * pix1)) * group1, planes
