"""c = a b, a tile of c for each program; a is [M, K], b [K, N], c [M, N], each row after row."""

import triton
import triton.language as tl


@triton.jit
def tile_of_product(a, b, i, j, M, N, K, first, step, TILE_K: tl.constexpr):
    """Sum over k of a[i, k] b[k, j], for tiles of TILE_K that start at first, first + step, ..."""
    total = tl.zeros([i.shape[0], j.shape[0]], tl.float32)
    for start in range(first, K, step):
        k = start + tl.arange(0, TILE_K)
        left = tl.load(a + i[:, None] * K + k[None, :], (i[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + j[None, :], (k[:, None] < K) & (j[None, :] < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    return total


@triton.jit
def product(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """One tile of c."""
    i = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    j = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    total = tile_of_product(a, b, i, j, M, N, K, 0, TILE_K, TILE_K)
    tl.store(c + i[:, None] * N + j[None, :], total, (i[:, None] < M) & (j[None, :] < N))


@triton.jit
def product_split(
    a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, SPLIT: tl.constexpr
):
    """A share of one tile of c."""
    i = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    j = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    total = tile_of_product(a, b, i, j, M, N, K, tl.program_id(2) * TILE_K, SPLIT * TILE_K, TILE_K)
    inside = (i[:, None] < M) & (j[None, :] < N)
    tl.atomic_add(c + i[:, None] * N + j[None, :], total, inside, sem="relaxed")
