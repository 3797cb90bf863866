"""o = softmax(q k' / sqrt HEAD) v, one query of a head for each program, by products of vectors alone.

M. N. Rabe and C. Staats, "Self-attention does not need O(n^2) memory", arXiv:2112.05682. Layouts and
constexprs are those of flash_attention.py.
"""

import triton
import triton.language as tl


@triton.jit
def row_attention(
    q,
    k,
    v,
    o,
    sequence,
    HEAD: tl.constexpr,
    GROUP: tl.constexpr,
    CAUSAL: tl.constexpr,
    TILE: tl.constexpr,
):
    """One query of one head: TILE keys at a time."""
    row, head = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, HEAD)
    place = (head * sequence + row) * HEAD + d
    scale: tl.constexpr = 1.4426950408889634 * HEAD**-0.5  # exp x = exp2(x log2 e)
    query = tl.load(q + place).to(tl.float32) * scale
    first = head // GROUP * sequence

    largest, total = -float("inf"), 0.0
    weighted = tl.zeros([HEAD], tl.float32)
    end = row + 1 if CAUSAL else sequence
    for start in range(0, end, TILE):
        j = start + tl.arange(0, TILE)
        cells = (first + j[:, None]) * HEAD + d[None, :]
        seen = j < end
        key = tl.load(k + cells, seen[:, None], other=0.0).to(tl.float32)
        value = tl.load(v + cells, seen[:, None], other=0.0).to(tl.float32)
        s = tl.where(seen, tl.sum(key * query[None, :], 1), -float("inf"))
        before = largest
        largest = tl.maximum(before, tl.max(s, 0))
        p = tl.exp2(s - largest)
        shrink = tl.exp2(before - largest)
        total = total * shrink + tl.sum(p, 0)
        weighted = weighted * shrink + tl.sum(p[:, None] * value, 0)

    tl.store(o + place, weighted / total)
