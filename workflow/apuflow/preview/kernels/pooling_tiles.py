"""Tiles of pooling backward: what wavefronts load, store and walk of a plane."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np


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


def _lines(index: np.ndarray, lanes: np.ndarray, plane: int) -> float:
    """Lines under elements of a plane, which begins at any of a line's 16 unless ``plane`` is whole lines."""
    touched = np.unique(index[lanes])
    if plane % 16 == 0 or not len(touched):
        return float(len(np.unique(touched // 16)))
    return 1.0 + float(np.minimum(np.diff(touched), 16).sum()) / 16


def _over(pixel: np.ndarray, shape: Shape, axis: int) -> np.ndarray:
    """Windows of the output image over pixels along an axis."""
    kernel, stride = shape.kernel[axis], shape.stride[axis]
    at = pixel + shape.pad[axis]
    first = np.where(at < kernel, 0, (at - kernel) // stride + 1)
    found: np.ndarray = np.maximum(0, np.minimum(at // stride + 1, shape.output[axis]) - first)
    return found


def _walked(high: np.ndarray, across: np.ndarray) -> tuple[float, float, float, float, float]:
    """The last five of ``Tiles``, of a wavefront whose lanes have ``high`` times ``across`` windows."""
    rows = int(high.max())
    widest = [int(across[high > row].max()) for row in range(rows)]
    lanes = float((high * across).sum())
    return float(rows > 0), rows, sum(most > 0 for most in widest), sum(widest), lanes


def _positions(count: int) -> list[tuple[int, int]]:
    """Tiles along one side that stand for all, and how many each stands for: those inside are alike."""
    if count <= 4:
        return [(number, 1) for number in range(count)]
    return [(0, 1), (1, count - 3), (count - 2, 1), (count - 1, 1)]


@lru_cache(maxsize=4096)
def walked_tiles(shape: Shape) -> Tiles:
    """Walk the tiles of one plane, as the kernel's loops do (x before y in every pair)."""
    (g0, g1), (p0, p1), (wide, tall) = shape.group, shape.pixels, shape.tile
    (w, h), (ow, oh) = shape.image, shape.output
    lane = np.arange(g0 * g1)
    sums = np.zeros(16)
    for gy, many in _positions(ceil(h / (g1 * p1))):
        for gx, times in _positions(ceil(w / (g0 * p0))):
            rows = trips = loads = stores = astray = 0
            lanes = load_lanes = store_lanes = lines = store_lines = 0.0
            walked = np.zeros(5)
            loaded = []
            first = []
            for start, pad, kernel, stride in zip(
                (gx * g0 * p0, gy * g1 * p1), shape.pad, shape.kernel, shape.stride, strict=True
            ):
                first.append(0 if start + pad < kernel else (start + pad - kernel) // stride + 1)
            for wave in range(0, len(lane), 64):
                x, y = lane[wave : wave + 64] % g0, lane[wave : wave + 64] // g0
                for tj in range(0, tall, g1):
                    inside = y + tj < tall
                    rows += bool(inside.any())
                    for ti in range(0, wide, g0):
                        live = inside & (x + ti < wide)
                        if not live.any():
                            continue
                        trips += 1
                        lanes += live.sum()
                        row, column = first[1] + y + tj, first[0] + x + ti
                        seen = live & (row < oh) & (column < ow)
                        loads += bool(seen.any())
                        astray += bool((live & ~seen).any())
                        load_lanes += seen.sum()
                        lines += _lines(row * ow + column, seen, oh * ow)
                        loaded.append((row * ow + column)[seen])
                for k in range(p1):
                    for m in range(p0):
                        row, column = (gy * g1 + y) * p1 + k, (gx * g0 + x) * p0 + m
                        seen = (row < h) & (column < w)
                        stores += bool(seen.any())
                        store_lanes += seen.sum()
                        store_lines += _lines(row * w + column, seen, h * w)
                        walked += _walked(_over(row, shape, 1), _over(column, shape, 0))
            own = np.concatenate(loaded) if loaded else np.zeros(0)
            own_lines = _lines(own, np.ones(len(own), dtype=bool), oh * ow)
            counted = (rows, trips, lanes, loads, load_lanes, lines, stores, store_lanes, store_lines)
            sums += many * times * np.array((*counted, own_lines, astray, *walked), dtype=np.float64)
    return Tiles(*(float(number) for number in sums))
