"""y = x / 2 * (1 + erf(x / sqrt 2)) (D. Hendrycks and K. Gimpel, arXiv:1606.08415)."""

import triton
import triton.language as tl


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n).to(tl.float32)
    tl.store(y + i, 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476)), i < n)
