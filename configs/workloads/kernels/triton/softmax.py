"""y = exp(x - max x) / sum(exp(x - max x)) of each row, a row for each program.

The largest element and the sum are found in one pass over the row (M. Milakov and N. Gimelshein, "Online
normalizer calculation for softmax", arXiv:1805.02867): a larger element scales the sum so far.
"""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """One row."""
    row = tl.program_id(0) * columns
    largest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=-float("inf")).to(tl.float32)
        before = largest
        largest = tl.maximum(before, tl.max(v, 0))
        total = total * tl.exp(before - largest) + tl.sum(tl.exp(v - largest), 0)

    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
        tl.store(y + row + j, tl.exp(v - largest) / total, j < columns)
