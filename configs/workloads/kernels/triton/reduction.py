"""Sum, mean or largest element along an axis of [outer, width, inner]: MODE 0, 1, 2."""

import triton
import triton.language as tl


@triton.jit
def reduction(x, y, width, inner, rows, MODE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """ROWS outputs; each reads width elements that lie inner apart."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = r // inner * (width * inner) + r % inner
    start_with = -float("inf") if MODE == 2 else 0.0
    total = tl.full([ROWS, BLOCK], start_with, tl.float32)
    for start in range(0, width, BLOCK):
        j = start + tl.arange(0, BLOCK)
        inside = (r[:, None] < rows) & (j[None, :] < width)
        v = tl.load(x + first[:, None] + j[None, :] * inner, inside, other=start_with).to(tl.float32)
        if MODE == 2:
            total = tl.maximum(total, v)
        else:
            total += v
    result = tl.max(total, 1) if MODE == 2 else tl.sum(total, 1)
    if MODE == 1:
        result = result / width
    tl.store(y + r, result, r < rows)
