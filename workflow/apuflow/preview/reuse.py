"""What the TCP and the TCC still have of lines that are loaded again.

Tables and arrays have a row for each stream.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from apuflow.preview.lines import LINE
from apuflow.preview.profile import Stream, Tiles
from apuflow.preview.tables import Accesses, Array, Table

Number = TypeVar("Number", float, Array)

OUT_OF_REACH = 15.0
"""Steps along k after which half of the workgroups that read an operand along it have drifted apart, where a
compute unit has several."""


def reused_in_tcp(loads: Accesses) -> Array:
    """Accesses of a load that find their line in the TCP, brought by workgroups beside or before them."""
    stream, tiles, used, resident = loads.streams, loads.tiles, loads.used, loads.resident
    capacity = loads.machines.tcp_bytes
    copies = stream.lines * copies_of(stream, tiles, used, resident)
    own = resident * np.where(stream.group_bytes > 0.0, stream.group_bytes, stream.window_bytes)
    between = np.where(stream.tiled, step_bytes(tiles, resident, used), own)
    together = np.where(stream.reuse == "none", 0.0, survives(capacity, between))
    reused = stream.beside + np.maximum(0.0, stream.accesses - stream.beside - copies) * together
    more = np.minimum(copies, stream.accesses) - stream.lines * units(tiles, stream.operand, used)
    turns = until_again(tiles, stream.operand, resident, used)
    later = np.maximum(0.0, more) * survives(capacity, turns)
    return reused + np.where(stream.tiled, later, 0.0)


def asked_at_once(loads: Accesses) -> Array:
    """Reads of a line of a product by other units in the same step, before it has come for the first time.

    One workgroup on each unit stays in step with the others. Several queue at their unit's link, and drift
    apart where an operand lies along k: its lines need no new pages, which would bring units in step again.
    """
    stream = loads.streams
    others = np.minimum(units(loads.tiles, stream.operand, loads.used), stream.line_sharing) - 1.0
    begin = np.minimum(1.0, loads.running / loads.profiles.workgroups)
    asked = stream.at_once * np.maximum(0.0, others) * begin
    queued = 1.0 + ((loads.resident - 1) / (2 * loads.machines.tccs)) ** 1.5
    drifting = 1.0 + (stream.steps / OUT_OF_REACH) ** 2
    return np.where((loads.resident > 1) & (stream.steps > 0.0), asked / drifting / queued, asked)


def copies_of(stream: Table[Stream], tiles: Table[Tiles], used: Array, resident: Array) -> Array:
    """How often a line of a stream comes to compute units, if workgroups of one unit share what they can.

    Those share lines that run on one compute unit at the same time: every ``used``-th of the grid.
    """
    shared = np.maximum(1.0, stream.line_sharing)
    first, second = apart(tiles, resident, used)
    in_step = np.maximum(1.0, shared * np.where(stream.operand, second, first) / resident)
    return np.where(stream.tiled, in_step, np.minimum(shared, used))


def found_in_tcc(loads: Accesses) -> Array:
    """Part of the loads of lines that other running workgroups have loaded that finds them in the TCC.

    A product's workgroups keep in step, and read a tile while others do. Where all that read a tile of the
    first operand are in one compute unit, none brings it for another. A matrix that fits the TCC stays there.
    """
    stream, running, capacity = loads.streams, loads.running, loads.machines.tcc_bytes
    in_step = touched(loads.tiles, np.minimum(running, loads.profiles.workgroups))
    between = np.where(stream.tiled, in_step, running * np.maximum(stream.window_bytes, 64.0))
    from_begin = stream.cyclic * kept_from_begin(capacity, between)
    found = from_begin + (1.0 - stream.cyclic) * survives(capacity, between)
    alone = np.where(stream.operand, 0.0, np.gcd(loads.tiles.column, loads.used) / loads.used)
    product = np.maximum(found * (1.0 - alone), survives(capacity, stream.lines * LINE))
    return np.where(stream.tiled, product, found)


def survives(capacity: Number, need: Number) -> Number:
    """Part of the reuse that survives in a cache with tree-PLRU replacement.

    Three quarters when the ``need`` bytes that come between just fill it, a quarter at twice that, as gem5's
    runs show.
    """
    return 1.0 / (1.0 + 0.35 * (need / capacity) ** 3)


def kept_from_begin(capacity: Number, need: Number) -> Number:
    """Part of a buffer that is still in the cache when it is read once more from its begin.

    ``need`` bytes come between. The oldest lines go first, so that little is found once they do not fit: of
    the TCC reads of A again, none at 1.06 of its size, 28 % at 0.86, 70 % at 0.55 (256 x 256 x 256, 192 x 96
    x 256, 128 x 96 x 256 on 4 units, gem5).
    """
    return 1.0 / (1.0 + (need / (0.68 * capacity)) ** 6)


# Lines that the workgroups of a tiled matrix product share, on a compute unit and over all.


def touched(tiles: Table[Tiles], running: Array) -> Array:
    """Bytes that ``running`` workgroups read between two uses of a line, all of them in the same step."""
    first = tiles.first_bytes * np.minimum(tiles.column, running)
    return first + tiles.second_bytes * np.ceil(running / tiles.column)


def apart(tiles: Table[Tiles], resident: Array, used: Array) -> tuple[Array, Array]:
    """Tiles of either operand that have as many lines as ``resident`` workgroups of a unit read in a step.

    Neighbours share some.
    """
    first = np.minimum(resident, _turn(tiles, used))
    second = 1.0 + (resident - 1) * np.minimum(1.0, used / tiles.column)
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
    return np.where(operand, np.minimum(used, tiles.column), used)


def _turn(tiles: Table[Tiles], used: Array) -> Array:
    """Workgroups of a unit after which it has the first tile of the first operand again."""
    return tiles.column // np.gcd(tiles.column, used)
