"""How MIOpenConvDirUni.cl divides a convolution: the sizes of a launch, as its compile arguments say them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from apuflow.preview.kernels.facts import Facts


@dataclass(frozen=True)
class Tiling:
    """One launch; pairs are (across, down).

    Attributes:
        n, channels, outputs, groups: images, input channels of a group, output channels of all groups.
        image, out, filter, pad, stride: of the convolution.
        tile: output pixels of a workgroup. items: its work-items. pixels: of a work-item.
        together, stack: input and output channels that a workgroup works on at once.
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
        sides = zip(self.tile, self.stride, self.filter, strict=True)
        across, down = ((tile - 1) * stride + size for tile, stride, size in sides)
        return across, down

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
        return (self.pixels[0] - 1) * self.stride[0] + self.filter[0]

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
    )
