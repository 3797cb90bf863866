"""counts[v] = how often v occurs in x; every program counts a block, then adds its counts by atomics."""

import triton
import triton.language as tl


@triton.jit
def histogram(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """One block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + i, i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(counts + tl.arange(0, BINS), found, sem="relaxed")
