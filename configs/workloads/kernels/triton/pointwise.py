"""One operator on each element: y = f(a), or y = f(a, b) for add, sub, mul, div, maximum and minimum.

OPERATOR: 0 copy, 1 add, 2 sub, 3 mul, 4 div, 5 maximum, 6 minimum, 7 relu, 8 sigmoid, 9 tanh, 10 silu,
11 exp, 12 neg, 13 abs, 14 sqrt, 15 rsqrt, 16 square.
"""

import triton
import triton.language as tl


@triton.jit
def pointwise(a, b, y, n, OPERATOR: tl.constexpr, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, i < n, other=1.0).to(tl.float32)
    r = u
    if OPERATOR >= 1 and OPERATOR <= 6:
        v = tl.load(b + i, i < n, other=1.0).to(tl.float32)
        if OPERATOR == 1:
            r = u + v
        elif OPERATOR == 2:
            r = u - v
        elif OPERATOR == 3:
            r = u * v
        elif OPERATOR == 4:
            r = u / v
        elif OPERATOR == 5:
            r = tl.maximum(u, v)
        else:
            r = tl.minimum(u, v)
    elif OPERATOR == 7:
        r = tl.maximum(u, 0.0)
    elif OPERATOR == 8:
        r = 1.0 / (1.0 + tl.exp(-u))
    elif OPERATOR == 9:
        r = 2.0 / (1.0 + tl.exp(-2.0 * u)) - 1.0
    elif OPERATOR == 10:
        r = u / (1.0 + tl.exp(-u))
    elif OPERATOR == 11:
        r = tl.exp(u)
    elif OPERATOR == 12:
        r = -u
    elif OPERATOR == 13:
        r = tl.abs(u)
    elif OPERATOR == 14:
        r = tl.sqrt(u)
    elif OPERATOR == 15:
        r = 1.0 / tl.sqrt(u)
    elif OPERATOR == 16:
        r = u * u
    tl.store(y + i, r, i < n)
