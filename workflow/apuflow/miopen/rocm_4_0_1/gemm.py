"""Matrix products: rocBLAS calls of DNNMark's fully connected layer and of MIOpen's GEMM convolution.

MIOpen's products are row major; ``gemm_v2.cpp`` swaps A and B for rocBLAS, which is column major, as here.
rocBLAS picks its kernel (Tensile) at run time, so no kernel object of MIOpen's cache is involved and the
geometry cannot be derived: ``stand_in`` is that of a plain tiled kernel, one work-item per element of C.

Source: DNNMark ``layers/fc_layer.h``; MIOpen ``src/gemm_v2.cpp``.
"""

from __future__ import annotations

from typing import Literal

from apuflow.dnnmark.model import FullyConnected, Layer
from apuflow.miopen.launch import Arg, Buffers, Extent, Gemm, Launch

TILE = 16
NOTE = "stand-in for rocBLAS: one work-item per element of C in 16x16 tiles"


def stand_in(m: int, n: int, batch: int) -> tuple[Extent, Extent]:
    """(grid, workgroup) of the stand-in kernel: dimension 0 along m, 1 along n, 2 over the batch."""
    return (-(-m // TILE) * TILE, -(-n // TILE) * TILE, batch), (TILE, TILE, 1)


def gemm_launch(
    layer: Layer,
    direction: Literal["fwd", "bwd"],
    memory: tuple[Arg, Arg, Arg],
    gemm: Gemm,
    count: int = 1,
    loop: int = 0,
) -> Launch:
    """A rocBLAS call on the buffers A, B and C."""
    grid, workgroup = stand_in(gemm.m, gemm.n, gemm.batch)
    return Launch(
        layer.name,
        layer.kind,
        direction,
        None,
        None,
        "sgemm",
        grid,
        workgroup,
        memory,
        NOTE,
        gemm,
        count,
        loop,
    )


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], num_cus: int
) -> tuple[Launch, ...]:
    """Fully connected: one product forward; weights' and input's gradients backward."""
    params = layer.params
    assert isinstance(params, FullyConnected)
    n = layer.input.n
    rows, cols = layer.input.elements // n, params.num_output
    x = Arg("buffer", buffers.bottom, layer.input.elements, "in", "x")
    w = Arg("buffer", f"{buffers.own}.weights", rows * cols, "in", "w")
    if direction == "fwd":
        y = Arg("buffer", buffers.top, layer.output.elements, "out", "y")
        product = Gemm(cols, n, rows, True, False, 1, rows, rows, cols)
        return (gemm_launch(layer, direction, (w, x, y), product),)
    dy = Arg("buffer", buffers.top_diff, layer.output.elements, "in", "dy")
    dx = Arg("buffer", buffers.bottom_diff, layer.input.elements, "out", "dx")
    dw = Arg("buffer", f"{buffers.own}.weights_diff", rows * cols, "out", "dw")
    return (
        gemm_launch(layer, direction, (x, dy, dw), Gemm(rows, cols, n, False, True, 1, rows, cols, rows)),
        gemm_launch(layer, direction, (w, dy, dx), Gemm(rows, n, cols, False, False, 1, rows, cols, rows)),
    )
