"""Images [planes, H, W] in another size: the nearest pixel, or between four of them (PyTorch's interpolate).

Of the nearest pixel the place is floor(out * H / OH); LINEAR takes (out + 0.5) * H / OH - 0.5, at least 0
(align_corners is false).
"""

import triton
import triton.language as tl


@triton.jit
def near(out, size, outs):
    """The pixels before and behind a place along an axis, and the part of the second one."""
    at = tl.maximum((out.to(tl.float32) + 0.5) * (size.to(tl.float32) / outs) - 0.5, 0.0)
    first = tl.minimum(at.to(tl.int32), size - 1)
    return first, tl.minimum(first + 1, size - 1), at - first.to(tl.float32)


@triton.jit
def resize(x, y, H, W, OH, OW, n, LINEAR: tl.constexpr, BLOCK: tl.constexpr):
    """A block of outputs."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane, oh, ow = i // (OH * OW), i // OW % OH, i % OW
    inside = i < n
    x += plane * (H * W)
    if LINEAR:
        h, below, down = near(oh, H, OH)
        w, beside, across = near(ow, W, OW)
        a = tl.load(x + h * W + w, inside, other=0.0).to(tl.float32)
        b = tl.load(x + h * W + beside, inside, other=0.0).to(tl.float32)
        c = tl.load(x + below * W + w, inside, other=0.0).to(tl.float32)
        d = tl.load(x + below * W + beside, inside, other=0.0).to(tl.float32)
        upper, lower = a + (b - a) * across, c + (d - c) * across
        tl.store(y + i, upper + (lower - upper) * down, inside)
    else:
        tl.store(y + i, tl.load(x + oh * H // OH * W + ow * W // OW, inside, other=0.0), inside)
