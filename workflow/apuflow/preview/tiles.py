"""Which lines the workgroups of a tiled matrix product share, on a compute unit and over all.

``tiles`` has a row for each stream (``profile.Tiles``), and so have all other arguments and results.
"""

from __future__ import annotations

import numpy as np

from apuflow.preview.profile import Tiles
from apuflow.preview.tables import Array, Table


def touched(tiles: Table[Tiles], running: Array) -> Array:
    """Bytes that ``running`` workgroups read between two uses of a line, all of them in the same step."""
    first = tiles.first_bytes * np.minimum(tiles.column, running)
    return first + tiles.second_bytes * np.ceil(running / tiles.column)


def different(tiles: Table[Tiles], resident: Array, used: Array) -> tuple[Array, Array]:
    """Tiles of either operand that ``resident`` workgroups of a unit have."""
    first = np.minimum(resident, _turn(tiles, used))
    return first, 1.0 + (resident - 1) * np.minimum(1.0, used / tiles.column)


def apart(tiles: Table[Tiles], resident: Array, used: Array) -> tuple[Array, Array]:
    """As many tiles have the lines that they read in a step: neighbours share some."""
    first, second = different(tiles, resident, used)
    beside = (first - 1.0) / np.maximum(1.0, tiles.column - 1.0)
    following = np.minimum(1.0, tiles.column / used) * (second - 1.0) / second
    return first * (1.0 - tiles.first_edge * beside), second * (1.0 - tiles.second_edge * following)


def step_bytes(tiles: Table[Tiles], resident: Array, used: Array) -> Array:
    """Bytes that ``resident`` workgroups of a unit read in a step."""
    first, second = apart(tiles, resident, used)
    return tiles.first_bytes * first + tiles.second_bytes * second


def until_again(tiles: Table[Tiles], operand: Array, resident: Array, used: Array) -> Array:
    """Bytes that a unit's workgroups read until others of them come back to a tile of an operand."""
    turn = _turn(tiles, used)
    between = np.where(operand, np.minimum(turn, resident), turn)
    return tiles.steps * step_bytes(tiles, between, used)


def units(tiles: Table[Tiles], operand: Array, used: Array) -> Array:
    """Compute units that read the same line of an operand."""
    turn = _turn(tiles, used)
    beside = (turn - 1.0) / np.maximum(1.0, tiles.column - 1.0)
    first = used * turn / tiles.column * (1.0 - tiles.first_edge * beside)
    following = np.minimum(1.0, tiles.column / used)
    second = np.minimum(used, tiles.column) * (1.0 - tiles.second_edge * following)
    edge = np.where(operand, tiles.second_edge, tiles.first_edge)
    return np.minimum(np.where(operand, second, first) / (1.0 - edge), used)


def _turn(tiles: Table[Tiles], used: Array) -> Array:
    """Workgroups of a unit after which it has the first tile of the first operand again."""
    return tiles.column // np.gcd(tiles.column, used)
