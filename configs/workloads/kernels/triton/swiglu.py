"""y = gate * sigmoid(gate) * up (N. Shazeer, "GLU variants improve transformer", arXiv:2002.05202)."""

import triton
import triton.language as tl


@triton.jit
def swiglu(gate, up, y, n, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, i < n).to(tl.float32)
    u = tl.load(up + i, i < n).to(tl.float32)
    tl.store(y + i, g / (1.0 + tl.exp(-g)) * u, i < n)
