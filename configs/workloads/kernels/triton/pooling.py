"""Largest or mean element of each window of images [N, C, D, H, W].

AVERAGE: the mean is that of the elements inside of the image.
"""

import triton
import triton.language as tl


@triton.jit
def pooling(
    x, y, D, H, W, OD, OH, OW, n, KD, KH, KW,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    AVERAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A block of outputs, one after the other in memory."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane, rest = i // (OD * OH * OW), i % (OD * OH * OW)
    od, oh, ow = rest // (OH * OW), rest // OW % OH, rest % OW
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total, count = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for kd in range(0, KD):
        d = od * SD - PD + kd
        for kh in range(0, KH):
            h = oh * SH - PH + kh
            for kw in range(0, KW):
                w = ow * SW - PW + kw
                inside = (d >= 0) & (d < D) & (h >= 0) & (h < H) & (w >= 0) & (w < W) & (i < n)
                at = ((plane * D + d) * H + h) * W + w
                if AVERAGE:
                    total += tl.load(x + at, inside, other=0.0).to(tl.float32)
                    count += inside.to(tl.float32)
                else:
                    largest = tl.maximum(largest, tl.load(x + at, inside, other=-float("inf")).to(tl.float32))
    if AVERAGE:
        largest = total / count
    tl.store(y + i, largest, i < n)
