"""Normalisation over groups of channels of images [N, channels, pixels], for each program one group.

y = (x - mean) / sqrt(variance + epsilon) * weight + bias; weight and bias are those of the channel.
"""

import triton
import triton.language as tl


@triton.jit
def group_norm(x, weight, bias, y, groups, width, pixels, epsilon, BLOCK: tl.constexpr):
    """One group: width elements, one after the other."""
    group = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        j = start + tl.arange(0, BLOCK)
        total += tl.load(x + group * width + j, j < width, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / width
    for start in range(0, width, BLOCK):
        j = start + tl.arange(0, BLOCK)
        off = tl.load(x + group * width + j, j < width, other=0.0).to(tl.float32) - mean
        squares += tl.where(j < width, off * off, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / width + epsilon)
    first = group % groups * (width // pixels)
    for start in range(0, width, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + group * width + j, j < width, other=0.0).to(tl.float32)
        w = tl.load(weight + first + j // pixels, j < width, other=0.0).to(tl.float32)
        b = tl.load(bias + first + j // pixels, j < width, other=0.0).to(tl.float32)
        tl.store(y + group * width + j, (v - mean) * scale * w + b, j < width)
