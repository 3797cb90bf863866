"""One operator on each element: y = f(a), or y = f(a, b) for add, sub, mul, div, maximum, minimum and pow.

OPERATOR: 0 copy, 1 add, 2 sub, 3 mul, 4 div, 5 maximum, 6 minimum, 7 relu, 8 sigmoid, 9 tanh, 10 silu,
11 exp, 12 neg, 13 abs, 14 sqrt, 15 rsqrt, 16 square, 17 reciprocal, 18 log, 19 sin, 20 cos, 21 erf, 22 floor,
23 sign, 24 relu6, 25 hardsigmoid, 26 hardswish, 27 leaky_relu (0.01), 28 elu, 29 softplus, 30 mish,
31 clip (to -1 and 1), 32 log1p, 33 expm1, 34 pow. `masked` has those that read or write truth values.

one is 1.0. Numbers times one stay fp32: LLVM would compute fp16 with instructions that gem5 does not execute.
"""

import triton
import triton.language as tl


@triton.jit
def pointwise(a, b, y, n, one, OPERATOR: tl.constexpr, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, i < n, other=1.0).to(tl.float32) * one
    r = u
    if (OPERATOR >= 1 and OPERATOR <= 6) or OPERATOR == 34:
        v = tl.load(b + i, i < n, other=1.0).to(tl.float32) * one
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
        elif OPERATOR == 34:
            r = tl.exp(tl.log(u) * v)
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
    elif OPERATOR == 17:
        r = 1.0 / u
    elif OPERATOR == 18:
        r = tl.log(u)
    elif OPERATOR == 19:
        r = tl.sin(u)
    elif OPERATOR == 20:
        r = tl.cos(u)
    elif OPERATOR == 21:
        r = tl.erf(u)
    elif OPERATOR == 22:
        r = tl.floor(u)
    elif OPERATOR == 23:
        r = tl.where(u > 0.0, 1.0, tl.where(u < 0.0, -1.0, 0.0))
    elif OPERATOR == 24:
        r = tl.minimum(tl.maximum(u, 0.0), 6.0)
    elif OPERATOR == 25:
        r = tl.minimum(tl.maximum(u + 3.0, 0.0), 6.0) / 6.0
    elif OPERATOR == 26:
        r = u * (tl.minimum(tl.maximum(u + 3.0, 0.0), 6.0) / 6.0)
    elif OPERATOR == 27:
        r = tl.where(u > 0.0, u, 0.01 * u)
    elif OPERATOR == 28:
        r = tl.where(u > 0.0, u, tl.exp(u) - 1.0)
    elif OPERATOR == 29:
        r = tl.log(1.0 + tl.exp(u))
    elif OPERATOR == 30:
        r = u * (2.0 / (1.0 + tl.exp(-2.0 * tl.log(1.0 + tl.exp(u)))) - 1.0)
    elif OPERATOR == 31:
        r = tl.minimum(tl.maximum(u, -1.0), 1.0)
    elif OPERATOR == 32:
        r = tl.log(1.0 + u)
    elif OPERATOR == 33:
        r = tl.exp(u) - 1.0
    tl.store(y + i, r, i < n)


@triton.jit
def masked(a, b, mask, y, n, one, OPERATOR: tl.constexpr, BLOCK: tl.constexpr):
    """One block.

    OPERATOR: 0 y = a where mask, else b; 1 y = 1 where mask, else a; 2 to 7 mask = a ==, !=, <, <=, >, >= b.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, i < n, other=1.0).to(tl.float32) * one
    if OPERATOR == 1:
        tl.store(y + i, tl.where(tl.load(mask + i, i < n, other=0) != 0, 1.0, u), i < n)
    else:
        v = tl.load(b + i, i < n, other=1.0).to(tl.float32) * one
        if OPERATOR == 0:
            tl.store(y + i, tl.where(tl.load(mask + i, i < n, other=0) != 0, u, v), i < n)
        else:
            r = u == v
            if OPERATOR == 3:
                r = u != v
            elif OPERATOR == 4:
                r = u < v
            elif OPERATOR == 5:
                r = u <= v
            elif OPERATOR == 6:
                r = u > v
            elif OPERATOR == 7:
                r = u >= v
            tl.store(mask + i, r.to(tl.uint8), i < n)
