"""o = softmax(q k' / sqrt HEAD) v of each head, TILE_Q queries for each program, without storing q k'.

T. Dao, "FlashAttention-2", arXiv:2307.08691. q and o are [heads, sequence, HEAD], k and v are
[heads / GROUP, sequence, HEAD]: GROUP heads of queries share one of keys and values (grouped queries).
CAUSAL: a query sees the keys up to its own position.
"""

import triton
import triton.language as tl


@triton.jit
def flash_attention(
    q,
    k,
    v,
    o,
    sequence,
    HEAD: tl.constexpr,
    GROUP: tl.constexpr,
    CAUSAL: tl.constexpr,
    TILE_Q: tl.constexpr,
    TILE_K: tl.constexpr,
):
    """TILE_Q queries of one head."""
    head = tl.program_id(1)
    i = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)
    d = tl.arange(0, HEAD)
    queries = head * sequence * HEAD + i[:, None] * HEAD + d[None, :]
    keys = head // GROUP * sequence * HEAD
    Q = tl.load(q + queries, i[:, None] < sequence, other=0.0)
    scale: tl.constexpr = 1.4426950408889634 * HEAD**-0.5  # exp x = exp2(x log2 e)

    largest = tl.full([TILE_Q], -float("inf"), tl.float32)
    total = tl.zeros([TILE_Q], tl.float32)
    weighted = tl.zeros([TILE_Q, HEAD], tl.float32)
    end = tl.minimum(sequence, (tl.program_id(0) + 1) * TILE_Q) if CAUSAL else sequence
    for start in range(0, end, TILE_K):
        j = start + tl.arange(0, TILE_K)
        K = tl.load(k + keys + d[:, None] + j[None, :] * HEAD, j[None, :] < sequence, other=0.0)
        V = tl.load(v + keys + j[:, None] * HEAD + d[None, :], j[:, None] < sequence, other=0.0)
        S = tl.dot(Q, K, input_precision="ieee") * scale
        seen = j[None, :] < sequence
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None])
        S = tl.where(seen, S, -float("inf"))
        before = largest
        largest = tl.maximum(before, tl.max(S, 1))
        P = tl.exp2(S - largest[:, None])
        shrink = tl.exp2(before - largest)
        total = total * shrink + tl.sum(P, 1)
        weighted = tl.dot(P.to(V.dtype), V, weighted * shrink[:, None], input_precision="ieee")

    tl.store(o + queries, weighted / total[:, None], i[:, None] < sequence)
