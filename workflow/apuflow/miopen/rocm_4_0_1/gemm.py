"""Matrix products, and the kernels around those of a convolution.

The products are rocBLAS calls of DNNMark's fully connected layer and of MIOpen's GEMM convolution. MIOpen's
are row major; ``gemm_v2.cpp`` swaps A and B for rocBLAS, which is column major, as here. rocBLAS picks its
kernel (Tensile) at run time, so no kernel object of MIOpen's cache is involved and the geometry cannot be
derived: ``stand_in`` is that of a plain tiled kernel, one work-item per element of C.

The kernels around them are im2col, col2im, set-tensor and the transposes of 1x1 convolutions.

Source: DNNMark ``layers/fc_layer.h``; MIOpen ``src/gemm_v2.cpp``, ``src/ocl/utilocl.cpp``,
``src/ocl/tensorocl.cpp`` (``SetTensor``).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from apuflow.core.products import STAND_IN_NOTE
from apuflow.dnnmark import FullyConnected, Plane
from apuflow.miopen.launch import Arg, Extent, Gemm, Launch, LayerPass
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, read_unit

TILE = 16
NOTE = f"{STAND_IN_NOTE}one work-item per element of C in 16x16 tiles"

GROUP = 256
LDS_BYTES = 65536
MOST_SET_ITEMS = 65536
MOST_ACTIVE = 64 * 4 * 64

COL2IM_ARGUMENTS = FP32_ALL
"""``MIOpenCol2Im2d.cl``: independent of the shape."""


def stand_in(m: int, n: int, batch: int) -> tuple[Extent, Extent]:
    """(grid, workgroup) of the stand-in kernel: dimension 0 along m, 1 along n, 2 over the batch."""
    return (-(-m // TILE) * TILE, -(-n // TILE) * TILE, batch), (TILE, TILE, 1)


def product(
    name: str,
    kind: str,
    direction: Literal["fwd", "bwd"],
    memory: tuple[Arg, Arg, Arg],
    gemm: Gemm,
    count: int = 1,
    loop: int = 0,
) -> Launch:
    """The stand-in's launch of a product, which ``apuflow.rocblas`` may replace by rocBLAS' own.

    Args:
        name, kind: of the layer, as tables show it.
        memory: the buffers A, B and C; the role of C is "inout" where ``gemm.beta`` is not 0.
        gemm: sizes, transposes, alpha, beta, batch, strides, offsets.
        count, loop: see ``Launch``.
    """
    grid, workgroup = stand_in(gemm.m, gemm.n, gemm.batch)
    return Launch(
        name, kind, direction, None, None, "sgemm", grid, workgroup, memory, NOTE, gemm, count, loop
    )


def launches(work: LayerPass) -> tuple[Launch, ...]:
    """Fully connected: one product forward; weights' and input's gradients backward."""
    layer, params = work.layer, work.layer.params
    assert isinstance(params, FullyConnected)
    n = layer.input.n
    rows, cols = layer.input.elements // n, params.num_output
    w = work.own("weights", rows * cols, "in", "w")
    products = [((w, work.x, work.y), Gemm.packed(cols, n, rows, True, False))]
    if not work.forward:
        dw = work.own("weights_diff", rows * cols, "out", "dw")
        products = [
            ((work.x, work.dy, dw), Gemm.packed(rows, cols, n, False, True)),
            ((w, work.dy, work.dx), Gemm.packed(rows, n, cols, False, False)),
        ]
    return tuple(product(layer.label, layer.kind, work.direction, memory, gemm) for memory, gemm in products)


class Columns(NamedTuple):
    """Plan of the im2col kernel: channels per workgroup, tile of output pixels, blocks, LDS floats."""

    channels: int
    tile_w: int
    tile_h: int
    blocks_w: int
    blocks: int
    lds: int
    extreme: bool


def im2col_plan(channels: int, out: Plane, kernel: Plane, stride: Plane) -> Columns:
    """The plan of ``Im2d2ColGPU``: the tile is halved until its input fits into the LDS.

    Args:
        kernel: pixels that the filter spans, including those between its taps.
    """
    per_group = 4 if out.h <= 8 and out.w <= 8 and stride == (1, 1) and channels % 4 == 0 else 1
    tile_w, tile_h = 32, 8

    def lds() -> int:
        across, down = (tile_w - 1) * stride.w + kernel.w, (tile_h - 1) * stride.h + kernel.h
        if per_group == 1:
            return across * down
        part_w, part_h = -(-tile_w // per_group) - 1, -(-tile_h // per_group) - 1
        by_w = (per_group * part_w * stride.w + kernel.w) * down
        by_h = per_group * across * (part_h * stride.h + kernel.h)
        return max(by_w, by_h)

    extreme = per_group * kernel.w * kernel.h * 4 > LDS_BYTES
    while not extreme and lds() * 4 > LDS_BYTES:
        if tile_h == 1:
            tile_w = max(1, tile_w // 2)
        tile_h = max(1, tile_h // 2)
    blocks_w = -(-out.w // tile_w)
    return Columns(per_group, tile_w, tile_h, blocks_w, blocks_w * -(-out.h // tile_h), lds(), extreme)


def im2col_arguments(channels: int, plan: Columns, stride: Plane) -> str:
    """Compile arguments of ``MIOpenIm2d2Col.cl``."""
    extreme = f" -DEXTREME_LARGE -DNUM_CH_TOTAL={channels}" if plan.extreme else ""
    return (
        f"{extreme} -DNUM_CH_PER_WG={plan.channels} -DNUM_IM_BLKS_X={plan.blocks_w}"
        f" -DNUM_IM_BLKS={plan.blocks} -DLOCAL_MEM_SIZE={plan.lds}"
        f" -DSTRIDE_GT_1={int(stride.h * stride.w > 1)} -DTILE_SZ_X={plan.tile_w} -DTILE_SZ_Y={plan.tile_h}"
        f" -DUSE_IM_OFF_GUARD=1{FP32_ALL}"
    )


def set_items(elements: int) -> int:
    """Work-items of a set-tensor launch: the next power of two, at most 65,536."""
    return min(MOST_SET_ITEMS, 1 << (elements - 1).bit_length())


def set_arguments(elements: int) -> str:
    """Compile arguments of ``MIOpenSubTensorOpWithScalarKernel.cl`` for a packed tensor."""
    return (
        f" -DSUBTENSOR_OP_WITH_SCALAR=SUBTENSOR_OP_WITH_SCALAR_SET{FP32_ALL}"
        f" -DWORK_LENGTH_0={set_items(elements)}"
    )


class Transpose(NamedTuple):
    """A transpose between NCHW and CNHW that takes every ``stride``-th pixel or spreads them (to NCHW).

    ``image`` is the size at the strided side, ``taken`` that of the taken pixels; offsets are in elements.
    """

    to_cnhw: bool
    n: int
    c: int
    image: Plane
    taken: Plane
    in_offset: int
    out_offset: int
    stride: Plane

    @property
    def kernel(self) -> str:
        """Name of the kernel; ``_opt`` if all pixels are taken."""
        name = "transpose_NCHW2CNHW" if self.to_cnhw else "transpose_CNHW2NCHW"
        return f"{name}_opt" if self.stride == (1, 1) else name

    @property
    def items(self) -> int:
        """Work-items per image."""
        pixels = self.taken.h * self.taken.w
        return self.c * (pixels // read_unit(pixels) if self.stride == (1, 1) else pixels)

    @property
    def grid(self) -> Extent:
        """Work-items along x, y and z; images along y if one has fewer than ``MOST_ACTIVE``."""
        return self.items, self.n if self.items < MOST_ACTIVE else 1, 1

    @property
    def arguments(self) -> str:
        """Compile arguments of ``MIOpenUtilKernels4.cl``."""
        flat = f" -DIS_2D_WG={int(self.items < MOST_ACTIVE)}"
        there, back = int(self.to_cnhw), int(not self.to_cnhw)
        offsets = f" -DIN_OFF={self.in_offset} -DOUT_OFF={self.out_offset}"
        h, w = self.taken
        if self.stride == (1, 1):
            unit = read_unit(h * w)
            return (
                f"{FP32_ALL} -DNC_TRANS_NCHW_OPT={there} -DNC_TRANS_CNHW_OPT={back}"
                f" -DNC_TRANS_NCHW=0 -DNC_TRANS_CNHW=0{offsets} -DH={h} -DW={w} -DN={self.n} -DC={self.c}"
                f" -DRD_BLCK={unit} -DHW_RD={h * w // unit} -DMAP_RD={self.items}"
                f" -DREAD_TYPE={'float' if unit == 1 else f'float{unit}'}{flat}"
            )
        return (
            f"{FP32_ALL} -DNC_TRANS_NCHW_OPT=0 -DNC_TRANS_CNHW_OPT=0"
            f" -DNC_TRANS_NCHW={there} -DNC_TRANS_CNHW={back} -DN={self.n} -DC={self.c}"
            f" -DHW_IN={self.image.h * self.image.w} -DHW_OUT={h * w} -DW_IN={self.image.w} -DW_OUT={w}"
            f" -DH_STRIDE={self.stride.h} -DW_STRIDE={self.stride.w}{offsets}{flat}"
        )
