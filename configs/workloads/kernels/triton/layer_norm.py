"""y = (x - mean) / sqrt(variance + epsilon) * weight + bias of each row, a row for each program."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, y, columns, epsilon, BLOCK: tl.constexpr):
    """One row."""
    row = tl.program_id(0) * columns
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        total += tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns

    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
        off = tl.where(j < columns, v - mean, 0.0)
        squares += off * off
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / columns + epsilon)

    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
        w = tl.load(weight + j, j < columns, other=0.0).to(tl.float32)
        b = tl.load(bias + j, j < columns, other=0.0).to(tl.float32)
        tl.store(y + row + j, (v - mean) * scale * w + b, j < columns)
