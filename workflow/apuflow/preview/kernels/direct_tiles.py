"""How MIOpenConvDirUni.cl divides a convolution: the sizes of a launch, as its compile arguments say them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.kernels.facts import Facts

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Tiling:
    """One launch; pairs are (across, down).

    Attributes:
        n, channels, outputs, groups: images, input channels of a group, output channels of all groups.
        image, out, filter, pad, stride: of the convolution.
        tile: output pixels of a workgroup. items: its work-items. pixels: of a work-item.
        together, stack: input and output channels that a workgroup works on at once.
        forward: else the gradient of an input: ``image`` is the output's gradient, ``out`` the input's.
    """

    n: int
    channels: int
    outputs: int
    groups: int
    image: tuple[int, int]
    out: tuple[int, int]
    filter: tuple[int, int]
    pad: tuple[int, int]
    stride: tuple[int, int]
    tile: tuple[int, int]
    items: tuple[int, int]
    pixels: tuple[int, int]
    together: int
    stack: int
    forward: bool = True

    @property
    def large(self) -> bool:
        """Whether an image has more than one tile."""
        return self.tile[0] < self.out[0] or self.tile[1] < self.out[1]

    @property
    def blocks(self) -> tuple[int, int]:
        """Tiles of an image."""
        return ceil(self.out[0] / self.tile[0]), ceil(self.out[1] / self.tile[1])

    @property
    def local(self) -> tuple[int, int]:
        """Inputs of a tile."""
        return self._read(0, self.tile[0]), self._read(1, self.tile[1])

    def _read(self, side: int, outputs: int) -> int:
        """Neighbouring inputs that so many neighbouring outputs need along a side."""
        if self.forward:
            return (outputs - 1) * self.stride[side] + self.filter[side]
        return ceil((outputs + self.filter[side] - 1) / self.stride[side])

    def origin(self, side: int, first: Numbers) -> Numbers:
        """Along a side: the input that output ``first`` of a workgroup or work-item begins at."""
        if self.forward:
            return first * self.stride[side] - self.pad[side]
        return first // self.stride[side] - self.pad[side] // self.stride[side]

    def apart(self, side: int) -> int:
        """Along a side: inputs from one work-item's first to the next one's."""
        if self.forward:
            return self.pixels[side] * self.stride[side]
        return self.pixels[side] // self.stride[side]

    @property
    def sums(self) -> int:
        """That a work-item keeps."""
        return self.stack * self.pixels[0] * self.pixels[1]

    @property
    def group(self) -> int:
        """Work-items of a workgroup."""
        return self.items[0] * self.items[1]

    @property
    def row(self) -> int:
        """Inputs that a work-item reads of a row."""
        return self._read(0, self.pixels[0])

    @property
    def rows(self) -> int:
        """Rows of them."""
        if self.forward:
            return self.filter[1] + (self.pixels[1] - 1) * self.stride[1]
        return self._read(1, self.pixels[1])

    @property
    def products(self) -> float:
        """Of a work-item with an input channel. With a stride backward a weight meets some pixels alone."""
        every = float(self.sums * self.filter[0] * self.filter[1])
        return every if self.forward else every / (self.stride[0] * self.stride[1])

    @property
    def packs(self) -> int:
        """Passes over the input channels; the last may reach beyond them."""
        return ceil(self.channels / self.together)

    @property
    def weights(self) -> int:
        """Weights that are in the LDS at once."""
        return self.stack * self.together * self.filter[0] * self.filter[1]

    @property
    def lds_bytes(self) -> int:
        """Inputs and weights of a workgroup."""
        return 4 * (self.together * self.local[0] * self.local[1] + self.weights)


def tiling(facts: Facts) -> Tiling:
    """The sizes of a launch."""

    def pair(name: str) -> tuple[int, int]:
        return facts.define(f"MLO_{name}0"), facts.define(f"MLO_{name}1")

    groups = facts.define("MLO_GROUP_COUNTS", 1)
    return Tiling(
        n=facts.define("MLO_BATCH_SZ"),
        channels=facts.define("MLO_N_INPUTS") // groups,
        outputs=facts.define("MLO_N_OUTPUTS"),
        groups=groups,
        image=(facts.define("MLO_IN_WIDTH"), facts.define("MLO_IN_HEIGHT")),
        out=(facts.define("MLO_OUT_WIDTH"), facts.define("MLO_OUT_HEIGHT")),
        filter=pair("FILTER_SIZE"),
        pad=pair("FILTER_PAD"),
        stride=pair("FILTER_STRIDE"),
        tile=pair("IN_TILE"),
        items=pair("GRP_TILE"),
        pixels=pair("OUT_TILE"),
        together=facts.define("MLO_N_IN_TILES_PERSTACK"),
        stack=facts.define("MLO_N_OUT_TILES_PERSTACK"),
        forward=bool(facts.define("MLO_DIR_FORWARD")),
    )
