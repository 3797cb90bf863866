"""y = x / sqrt(mean(x * x) + epsilon) * weight of each row, a row for each program.

B. Zhang and R. Sennrich, "Root mean square layer normalization", arXiv:1910.07467.
"""

import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, y, columns, epsilon, BLOCK: tl.constexpr):
    """One row."""
    row = tl.program_id(0) * columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
        squares += v * v
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / columns + epsilon)

    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + j, j < columns, other=0.0).to(tl.float32)
        w = tl.load(weight + j, j < columns, other=0.0).to(tl.float32)
        tl.store(y + row + j, v * scale * w, j < columns)
