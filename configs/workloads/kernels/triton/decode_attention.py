"""Attention of one new token of each sequence to its keys and values in the cache, in two launches.

q and o are [batch, heads, HEAD], the caches k and v [batch, heads / GROUP, capacity, HEAD]. Sequence n has
filled length[n] places of its cache.
"""

import triton
import triton.language as tl


@triton.jit
def decode_part(
    q,
    k,
    v,
    length,
    means,
    scores,
    sums,
    heads,
    capacity,
    HEAD: tl.constexpr,
    GROUP: tl.constexpr,
    PARTS: tl.constexpr,
    TILE: tl.constexpr,
):
    """From one head to one part of the cache: sum of weights times v, largest score, sum of weights."""
    part, head = tl.program_id(0), tl.program_id(1)
    filled = tl.load(length + head // heads)
    d = tl.arange(0, HEAD)
    cache = head // GROUP * capacity * HEAD
    Q = tl.load(q + head * HEAD + d).to(tl.float32) * (1.4426950408889634 * HEAD**-0.5)

    largest = -float("inf")
    total = 0.0
    weighted = tl.zeros([HEAD], tl.float32)
    for start in range(part * TILE, filled, PARTS * TILE):
        j = start + tl.arange(0, TILE)
        at = cache + j[:, None] * HEAD + d[None, :]
        K = tl.load(k + at, j[:, None] < filled, other=0.0).to(tl.float32)
        V = tl.load(v + at, j[:, None] < filled, other=0.0).to(tl.float32)
        S = tl.where(j < filled, tl.sum(Q[None, :] * K, 1), -float("inf"))
        before = largest
        largest = tl.maximum(before, tl.max(S, 0))
        P = tl.exp2(S - largest)
        shrink = tl.exp2(before - largest)
        total = total * shrink + tl.sum(P, 0)
        weighted = weighted * shrink + tl.sum(P[:, None] * V, 0)

    result = head * PARTS + part
    tl.store(means + result * HEAD + d, weighted)
    tl.store(scores + result, largest)
    tl.store(sums + result, total)


@triton.jit
def decode_join(means, scores, sums, o, HEAD: tl.constexpr, PARTS: tl.constexpr):
    """o of one head from its parts."""
    head = tl.program_id(0)
    part = head * PARTS + tl.arange(0, PARTS)
    d = tl.arange(0, HEAD)
    score = tl.load(scores + part)
    weight = tl.exp2(score - tl.max(score, 0))
    total = tl.sum(weight * tl.load(sums + part), 0)
    weighted = tl.sum(weight[:, None] * tl.load(means + part[:, None] * HEAD + d[None, :]), 0)
    tl.store(o + head * HEAD + d, weighted / total)
