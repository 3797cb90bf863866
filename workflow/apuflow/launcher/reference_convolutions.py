"""NumPy's version of MIOpen's direct convolutions, by definition; sizes come from compile arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from apuflow.launcher.reference_call import Array, Call
from apuflow.launcher.reference_windows import Window, patches, scatter


class _Layer(NamedTuple):
    """A convolution: images ``(n, c, h, w)``, its output's size and channels."""

    image: tuple[int, int, int, int]
    outputs: int
    out: tuple[int, int]
    window: Window
    groups: int

    def columns(self, images: Array) -> Array:
        """(n, groups, taps of all channels, pixels): the inputs of each output."""
        seen = patches(images.reshape(self.image), self.window, self.out)
        n = self.image[0]
        return seen.reshape(n, self.groups, -1, self.out[0] * self.out[1])

    def filtered(self, values: Array) -> Array:
        """An output (n, groups, channels of a group, pixels)."""
        return values.reshape(self.image[0], self.groups, self.outputs // self.groups, -1)

    def filters(self, weights: Array) -> Array:
        """(groups, outputs of a group, taps of all channels)."""
        return weights.reshape(self.groups, self.outputs // self.groups, -1)

    def forward(self, images: Array, weights: Array) -> Array:
        """The output."""
        values: Array = np.einsum("gkt,ngtp->ngkp", self.filters(weights), self.columns(images))
        return values

    def image_gradient(self, gradients: Array, weights: Array) -> Array:
        """The gradient of the images."""
        columns = np.einsum("gkt,ngkp->ngtp", self.filters(weights), self.filtered(gradients))
        of = self.window
        n, c, *size = self.image
        return scatter(columns.reshape(n, c, of.kernel_h, of.kernel_w, *self.out), of, size)

    def weight_gradients(self, gradients: Array, images: Array) -> Array:
        """The gradient of the weights for each image."""
        values: Array = np.einsum("ngkp,ngtp->ngkt", self.filtered(gradients), self.columns(images))
        return values


def _layer(call: Call, image: str, filtered: str, pad: Sequence[int] | None = None) -> _Layer:
    """The layer, whose image and output MIOpen calls IN or OUT: backward data exchanges them."""
    n, kernel_w, kernel_h, stride_w, stride_h, pad_w, pad_h = call.defined(
        "MLO_",
        "BATCH_SZ FILTER_SIZE0 FILTER_SIZE1 FILTER_STRIDE0 FILTER_STRIDE1 FILTER_PAD0 FILTER_PAD1",
    )
    if pad is not None:
        pad_w, pad_h = pad
    c, h, w = call.defined("MLO_", f"N_{image}PUTS {image}_HEIGHT {image}_WIDTH")
    outputs, out_h, out_w = call.defined("MLO_", f"N_{filtered}PUTS {filtered}_HEIGHT {filtered}_WIDTH")
    window = Window(kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w)
    groups = int(call.defines.get("MLO_GROUP_COUNTS", 1))
    return _Layer((n, c, h, w), outputs, (out_h, out_w), window, groups)


def _data(call: Call) -> None:
    """Forward, or the gradient of the input, whose padding is that of the turned filter."""
    if call.define("MLO_DIR_FORWARD"):
        call.write(2, _layer(call, "IN", "OUT").forward(call.read(0), call.read(1)))
        return
    pad = None
    if call.launch.kernel == "MIOpenConvUni":
        names = "FILTER_SIZE0 FILTER_PAD0 FILTER_SIZE1 FILTER_PAD1"
        size_w, turned_w, size_h, turned_h = call.defined("MLO_", names)
        pad = size_w - 1 - turned_w, size_h - 1 - turned_h
    call.write(2, _layer(call, "OUT", "IN", pad).image_gradient(call.read(0), call.read(1)))


def _pointwise(call: Call) -> None:
    """MIOpenConv1x1 of MIOpenConv1x1J1.cl, or of MIOpenConv1x1S.cl."""
    if "MLO_DIR_FORWARD" in call.defines:
        _data(call)
        return
    n, c, h, w, outputs = call.defined("", "BATCHSIZE C H W K")
    one = _Layer((n, c, h, w), outputs, (h, w), Window(1, 1, 1, 1, 0, 0), 1)
    call.write(2, one.forward(call.read(0), call.read(1)))


def _weights(call: Call) -> None:
    """The gradients of all parts of the batch, consecutively."""
    sums = _layer(call, "IN", "OUT").weight_gradients(call.read(0), call.read(1))
    images = int(call.defines.get("MLO_N_BATCH_LOOPS", len(sums)))
    call.write(2, np.add.reduceat(sums, range(0, len(sums), images)))


def _sums(call: Call) -> None:
    target = call.buffers[1].elements
    call.write(1, call.read(0, (-1, target)).sum(0))


def _seen(call: Call) -> None:
    """The pixels that a strided 1x1 filter reads."""
    n, c, out_h, out_w = call.defined("MLO_", "BATCH_SZ N_INPUTS IN_HEIGHT IN_WIDTH")
    area, width = call.defined("MLO_", "IN0_CHANNEL_STRIDE IN0_STRIDE")
    across, down = call.defined("MLO_", "FILTER0_STRIDE0 FILTER0_STRIDE1")
    planes = call.read(0, (n, c, area // width, width))
    call.write(1, planes[:, :, : out_h * down : down, : out_w * across : across])


KERNELS: Mapping[str, Callable[[Call], None]] = {
    "MIOpenConvUni": _data,
    "MIOpenConv1x1": _pointwise,
    "MIOpenConv1x1pquv": _data,
    "MIOpenCvBwdWrW": _weights,
    "MIOpenCvBwdWrW_rdc": _sums,
    "MIOpenCvBwdWrW_8x8map": _weights,
    "MIOpenCvBwdWrW_16x16map": _weights,
    "SubSample": _seen,
}
"""By the kernel's name."""
