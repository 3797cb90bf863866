"""Rotary position embedding: each pair (x[d], x[d + HALF]) of a head turns by an angle of its position.

J. Su et al., "RoFormer", arXiv:2104.09864. x is [positions, HEADS, 2 * HALF], the tables of cosines and sines
are [positions, HALF]. HEADS and HALF are powers of two.
"""

import triton
import triton.language as tl


@triton.jit
def rotary(x, cosine, sine, y, HEADS: tl.constexpr, HALF: tl.constexpr):
    """All heads of one position."""
    position = tl.program_id(0)
    d = tl.arange(0, HALF)
    c = tl.load(cosine + position * HALF + d)[None, :]
    s = tl.load(sine + position * HALF + d)[None, :]
    first = (position * HEADS + tl.arange(0, HEADS)[:, None]) * (2 * HALF) + d[None, :]
    a = tl.load(x + first).to(tl.float32)
    b = tl.load(x + first + HALF).to(tl.float32)
    tl.store(y + first, a * c - b * s)
    tl.store(y + first + HALF, b * c + a * s)
