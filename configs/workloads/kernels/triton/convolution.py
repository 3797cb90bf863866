"""y = x * w, convolutions in up to three dimensions and their transposes, laid out as PyTorch's.

x is [N, C, D, H, W], y [N, K, OD, OH, OW], a group has channels of C and filters of K. w is
[K, channels, KD, KH, KW]; of a transposed convolution [C, filters, KD, KH, KW]. `convolution` is a product
whose left matrix is gathered from the images (implicit GEMM, S. Chetlur et al., arXiv:1410.0759). `direct`
adds up each pixel by itself, for groups of few channels.
"""

import triton
import triton.language as tl


@triton.jit
def place(
    out, tap, size, PAD: tl.constexpr, STRIDE: tl.constexpr, DILATION: tl.constexpr, TURNED: tl.constexpr
):
    """Where a tap of the window at an output reads along an axis, and whether that is inside."""
    if TURNED:
        whole = out + PAD - tap * DILATION
        at = whole // STRIDE
        return at, (whole >= 0) & (at * STRIDE == whole) & (at < size)
    at = out * STRIDE - PAD + tap * DILATION
    return at, (at >= 0) & (at < size)


@triton.jit
def convolution(
    x, w, y, N, C, D, H, W, K, OD, OH, OW, channels, filters,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    DD: tl.constexpr, DH: tl.constexpr, DW: tl.constexpr,
    TURNED: tl.constexpr, TILE_P: tl.constexpr, TILE_K: tl.constexpr, TILE_C: tl.constexpr,
):  # fmt: skip
    """A tile of pixels by filters of a group."""
    TAPS: tl.constexpr = KD * KH * KW
    group = tl.program_id(2)
    pixel = tl.program_id(0) * TILE_P + tl.arange(0, TILE_P)
    k = tl.program_id(1) * TILE_K + tl.arange(0, TILE_K)
    image, rest = pixel // (OD * OH * OW), pixel % (OD * OH * OW)
    od, oh, ow = rest // (OH * OW), rest // OW % OH, rest % OW
    total = tl.zeros([TILE_P, TILE_K], tl.float32)
    for start in range(0, channels * TAPS, TILE_C):
        q = start + tl.arange(0, TILE_C)
        c, tap = q // TAPS, q % TAPS
        d, inside_d = place(od[:, None], (tap // (KH * KW))[None, :], D, PD, SD, DD, TURNED)
        h, inside_h = place(oh[:, None], (tap // KW % KH)[None, :], H, PH, SH, DH, TURNED)
        v, inside_w = place(ow[:, None], (tap % KW)[None, :], W, PW, SW, DW, TURNED)
        inside = inside_d & inside_h & inside_w & (image[:, None] < N) & (c[None, :] < channels)
        plane = image[:, None] * C + group * channels + c[None, :]
        left = tl.load(x + ((plane * D + d) * H + h) * W + v, inside, other=0.0)
        if TURNED:
            at = ((group * channels + c[:, None]) * filters + k[None, :]) * TAPS + tap[:, None]
        else:
            at = (group * filters + k[None, :]) * (channels * TAPS) + q[:, None]
        right = tl.load(w + at, (c[:, None] < channels) & (k[None, :] < filters), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    at = (image[:, None] * K + group * filters + k[None, :]) * (OD * OH * OW) + rest[:, None]
    tl.store(y + at, total, (image[:, None] < N) & (k[None, :] < filters))


@triton.jit
def direct(
    x, w, y, N, C, D, H, W, K, OD, OH, OW, channels, filters,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    DD: tl.constexpr, DH: tl.constexpr, DW: tl.constexpr,
    TURNED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A block of pixels of a filter of an image."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k, image = tl.program_id(1), tl.program_id(2)
    group = k // filters
    od, oh, ow = pixel // (OH * OW), pixel // OW % OH, pixel % OW
    total = tl.zeros([BLOCK], tl.float32)
    for c in range(0, channels):
        plane = image * C + group * channels + c
        for tap in tl.static_range(KD * KH * KW):
            d, inside_d = place(od, tap // (KH * KW), D, PD, SD, DD, TURNED)
            h, inside_h = place(oh, tap // KW % KH, H, PH, SH, DH, TURNED)
            v, inside_w = place(ow, tap % KW, W, PW, SW, DW, TURNED)
            inside = inside_d & inside_h & inside_w & (pixel < OD * OH * OW)
            row = k * channels + c
            if TURNED:
                row = (group * channels + c) * filters + k % filters
            factor = tl.load(w + row * (KD * KH * KW) + tap).to(tl.float32)
            total += factor * tl.load(x + ((plane * D + d) * H + h) * W + v, inside, other=0.0).to(tl.float32)
    tl.store(y + (image * K + k) * (OD * OH * OW) + pixel, total, pixel < OD * OH * OW)
