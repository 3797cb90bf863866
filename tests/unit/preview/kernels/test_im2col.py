"""Im2Col's tiles."""

from __future__ import annotations

import pytest

from apuflow.preview.kernels.im2col import _tile

NO_BYTE_SELECTED = (
    "5 9 10 12 13 17 18 19 20 21 24 25 26 27 29 33 34 35 36 37 38 40 41 42 44 45 46 47 48 49 50 51 52 53 54 "
    "55 57 58 59"
)
"""Tiles across, up to 63 and no power of two, that clang-15 divides by without SDWA: read from the
disassembly of MIOpenIm2d2Col.cl with ``NUM_IM_BLKS`` the largest multiple up to 127."""


def test_tiles_are_where_the_compiled_division_says() -> None:
    right = [int(word) for word in NO_BYTE_SELECTED.split()]
    for across in set(range(3, 64)) - {4, 8, 16, 32}:
        tiles = 127 // across * across
        where = [_tile(number, across, tiles) for number in range(tiles)]
        if across in right:
            assert where == [(number % across, number // across) for number in range(tiles)], across
        else:
            assert min(row for _, row in where) >= tiles, across


@pytest.mark.parametrize(("across", "tiles"), [(1, 40), (2, 2), (8, 8), (7, 7), (3, 129), (64, 128)])
def test_one_row_of_tiles_or_many_tiles_need_no_byte(across: int, tiles: int) -> None:
    assert [_tile(n, across, tiles) for n in range(tiles)] == [
        (n % across, n // across) for n in range(tiles)
    ]
