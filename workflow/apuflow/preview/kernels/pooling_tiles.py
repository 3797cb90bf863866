"""Tiles of pooling backward: what wavefronts load, store and walk of a plane."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple


class Tiles(NamedTuple):
    """Trips of wavefronts over all tiles of a plane.

    Attributes:
        rows: rows of the tile that a wavefront has lanes in.
        trips, lanes: trips with lanes in the tile, and their lanes.
        loads, load_lanes, load_lines: trips with lanes in the output image, these lanes, their lines.
        stores, store_lanes, store_lines: stores with lanes in the input image, these lanes, their lines.
        own_lines: lines that tiles load, of which others have some as well.
        astray: trips with lanes beyond the output image.
        entered: wavefronts with lanes under windows of the output image.
        window_rows: rows of these windows that a wavefront walks, the most of its lanes'.
        windowed_rows: those of them that have a window in a lane.
        windows, window_lanes: windows that it walks, and their lanes.
    """

    rows: float
    trips: float
    lanes: float
    loads: float
    load_lanes: float
    load_lines: float
    stores: float
    store_lanes: float
    store_lines: float
    own_lines: float
    astray: float
    entered: float
    window_rows: float
    windowed_rows: float
    windows: float
    window_lanes: float


class Shape(NamedTuple):
    """What the walk turns on, x before y in every pair.

    Attributes:
        group, pixels: work-items of a workgroup; pixels of each of them.
        stride, kernel, pad: of the window.
        tile: elements of the output's gradient that a workgroup copies.
        image, output: sizes of the input image and of the output image.
    """

    group: tuple[int, int]
    pixels: tuple[int, int]
    stride: tuple[int, int]
    kernel: tuple[int, int]
    pad: tuple[int, int]
    tile: tuple[int, int]
    image: tuple[int, int]
    output: tuple[int, int]


@lru_cache(maxsize=65536)
def _lines(begin: int, rows: int, down: int, columns: int, across: int, whole: bool) -> float:
    """Lines under elements of a plane: ``columns`` of each of ``rows``.

    Args:
        begin: number of the first element from a line's begin.
        down, across: elements from one row to the next, and from one column to the next: less than a line.
        whole: planes are of whole lines; else one begins at any of a line's 16 elements.
    """
    if not rows or not columns:
        return 0.0
    if not whole:
        between = down - (columns - 1) * across  # from a row's last element to the first of the next
        return 1.0 + (rows * (columns - 1) * across + (rows - 1) * min(16, between)) / 16
    total, last = 0, -1
    for row in range(rows):
        start = begin + row * down
        first = max(start // 16, last + 1)
        last = (start + (columns - 1) * across) // 16
        total += max(0, last + 1 - first)
    return float(total)


def _over(pixel: int, shape: Shape, axis: int) -> int:
    """Windows of the output image over a pixel along an axis."""
    kernel, stride = shape.kernel[axis], shape.stride[axis]
    at = pixel + shape.pad[axis]
    first = 0 if at < kernel else (at - kernel) // stride + 1
    return max(0, min(at // stride + 1, shape.output[axis]) - first)


class _Pixels(NamedTuple):
    """One pixel of each work-item of a wavefront, along an axis.

    Attributes:
        first: the first work-item's.
        inside: work-items whose pixel is inside the image.
        most, all: windows over a pixel, the most and the sum.
    """

    first: int
    inside: int
    most: int
    all: int


def _pixels(shape: Shape, axis: int, first: int, count: int) -> list[_Pixels]:
    """For each pixel of a work-item those of ``count`` work-items, from number ``first`` on."""
    each, size = shape.pixels[axis], shape.image[axis]
    found = []
    for start in range(first * each, (first + 1) * each):
        over = [_over(start + number * each, shape, axis) for number in range(count)]
        inside = max(0, min(count, ceil((size - start) / each)))
        found.append(_Pixels(start, inside, max(over), sum(over)))
    return found


def _positions(count: int) -> list[tuple[int, int]]:
    """Tiles along one side that stand for all, and how many each stands for: those inside are alike."""
    if count <= 4:
        return [(number, 1) for number in range(count)]
    return [(0, 1), (1, count - 3), (count - 2, 1), (count - 1, 1)]


def _first_window(start: int, shape: Shape, axis: int) -> int:
    """The first output along an axis under whose window the tile's first pixel is."""
    at = start + shape.pad[axis]
    return 0 if at < shape.kernel[axis] else (at - shape.kernel[axis]) // shape.stride[axis] + 1


def _tile(shape: Shape, gx: int, gy: int) -> Tiles:
    """What the workgroup of one tile does. Each of its wavefronts has whole rows of its work-items."""
    (g0, g1), (p0, p1), (wide, tall) = shape.group, shape.pixels, shape.tile
    (w, h), (ow, oh) = shape.image, shape.output
    rows = trips = lanes = loads = load_lanes = stores = store_lanes = astray = 0
    load_lines = store_lines = 0.0
    entered = window_rows = windowed_rows = windows = window_lanes = 0
    left, top = _first_window(gx * g0 * p0, shape, 0), _first_window(gy * g1 * p1, shape, 1)
    columns = _pixels(shape, 0, gx * g0, g0)
    for y in range(0, g1, 64 // g0):
        own_rows = min(64 // g0, g1 - y)
        for row in range(y, tall, g1):
            high = min(own_rows, tall - row)
            rows += 1
            for column in range(0, wide, g0):
                across = min(g0, wide - column)
                seen_high = max(0, min(high, oh - top - row))
                seen_across = max(0, min(across, ow - left - column))
                seen = seen_high * seen_across
                trips += 1
                lanes += high * across
                loads += seen > 0
                astray += seen < high * across
                load_lanes += seen
                begin = ((top + row) * ow + left + column) % 16
                load_lines += _lines(begin, seen_high, ow, seen_across, 1, oh * ow % 16 == 0)
        for down in _pixels(shape, 1, gy * g1 + y, own_rows):
            for along in columns:
                stores += down.inside * along.inside > 0
                store_lanes += down.inside * along.inside
                begin = (down.first * w + along.first) % 16
                store_lines += _lines(begin, down.inside, p1 * w, along.inside, p0, h * w % 16 == 0)
                entered += down.most > 0
                window_rows += down.most
                windowed_rows += down.most * (along.most > 0)
                windows += down.most * along.most
                window_lanes += down.all * along.all
    tile_rows, tile_columns = max(0, min(tall, oh - top)), max(0, min(wide, ow - left))
    own_lines = _lines((top * ow + left) % 16, tile_rows, ow, tile_columns, 1, oh * ow % 16 == 0)
    return Tiles(
        rows, trips, lanes, loads, load_lanes, load_lines, stores, store_lanes, store_lines, own_lines,
        astray, entered, window_rows, windowed_rows, windows, window_lanes,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def walked_tiles(shape: Shape) -> Tiles:
    """Walk the tiles of one plane, as the kernel's loops do (x before y in every pair)."""
    (g0, g1), (p0, p1), (w, h) = shape.group, shape.pixels, shape.image
    sums = [0.0] * len(Tiles._fields)
    for gy, many in _positions(ceil(h / (g1 * p1))):
        for gx, times in _positions(ceil(w / (g0 * p0))):
            tile = _tile(shape, gx, gy)
            sums = [total + many * times * number for total, number in zip(sums, tile, strict=True)]
    return Tiles(*sums)
