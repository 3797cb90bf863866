"""y = x / 2 * (1 + tanh(u)), u = sqrt(2 / pi) * (x + 0.044715 x**3): GELU without the error function.

D. Hendrycks and K. Gimpel, arXiv:1606.08415. (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)).
"""

import triton
import triton.language as tl


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n).to(tl.float32)
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tl.store(y + i, v / (1.0 + tl.exp(-2.0 * u)), i < n)
