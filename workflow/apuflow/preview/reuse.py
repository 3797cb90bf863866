"""What the TCP and the TCC still have of lines that are loaded again."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from apuflow.preview.lines import LINE
from apuflow.preview.profile import Stream, Tiles
from apuflow.preview.tables import Accesses, Array, Table
from apuflow.preview.tiles import apart, step_bytes, touched, units, until_again

Number = TypeVar("Number", float, Array)

IN_STEP = 0.92
"""Of the lines that workgroups in step read for one another, those that the TCC still has."""
SEVERAL_TCCS, LONGER = 4, 2.0
"""TCCs of one directory from which on lines wait there, and are on their way for so many times as long."""
OUT_OF_REACH = 15.0
"""Steps along k after which half of the workgroups that read an operand along it have drifted apart, where a
compute unit has several."""
MANY_STEPS, MANY = 22.0, 8
"""Steps along k after which workgroups of units that have so many of them are half out of step: of products
of SqueezeNet's convolutions on 16 units (gem5 v24.0.0.1), 0.4 to 0.5 of the other units ask at once up to 10
steps or with three workgroups on each, 0.17 after 18 and 0.07 after 27 and 36 with nine and ten."""
SHARED_TILES = 0.8
"""How far workgroups of a compute unit that share lines of tiles are at the same step."""


def reused_in_tcp(loads: Accesses) -> Array:
    """Accesses of a load that find their line in the TCP, brought by workgroups beside or before them."""
    stream, tiles, used, resident = loads.streams, loads.tiles, loads.used, loads.resident
    capacity = loads.machines.tcp_bytes
    copies = stream.lines * copies_of(stream, tiles, used, resident, loads.busiest)
    own = resident * np.where(stream.group_bytes > 0.0, stream.group_bytes, stream.window_bytes)
    in_step = own + SHARED_TILES * (step_bytes(tiles, resident, used) - own)
    between = np.where(stream.tiled, in_step, own)
    together = np.where(stream.reuse == "none", 0.0, survives(capacity, between))
    reused = stream.beside + np.maximum(0.0, stream.accesses - stream.beside - copies) * together
    more = np.minimum(copies, stream.accesses) - stream.lines * units(tiles, stream.operand, used)
    turns = until_again(tiles, stream.operand, resident, used)
    later = np.maximum(0.0, more) * survives(capacity, turns)
    return reused + np.where(stream.tiled, later, 0.0)


def asked_at_once(loads: Accesses) -> Array:
    """Reads of a line of a product by other units in the same step, before it has come for the first time.

    One workgroup on each unit stays in step with the others. Several drift apart, and queue at their unit's
    link, but not where four TCCs and more ask one directory: lines wait there meanwhile.
    """
    stream, machines, resident, running = loads.streams, loads.machines, loads.resident, loads.running
    others = np.minimum(units(loads.tiles, stream.operand, loads.used), stream.line_sharing) - 1.0
    begin = np.minimum(1.0, running / np.where(stream.every > 0, stream.every, loads.profiles.workgroups))
    asked = stream.at_once * np.maximum(0.0, others) * begin
    drifting = np.where(stream.along_k, (stream.steps / OUT_OF_REACH) ** 2, 0.0)
    all_run = running >= loads.profiles.workgroups
    waiting = all_run & stream.along_k & (machines.directories == 1) & (machines.tccs >= SEVERAL_TCCS)
    apart = 1.0 + drifting + (stream.steps / MANY_STEPS) ** 2 * ((resident - 1) / (MANY - 1)) ** 3
    queued = np.where(stream.along_k, 1.0 + ((resident - 1) / (2 * machines.tccs)) ** 1.5, 1.0)
    several = np.where(waiting, LONGER * asked / (1.0 + drifting / LONGER**2), asked / apart / queued)
    return np.where(resident == 1, asked, several)


def copies_of(
    stream: Table[Stream], tiles: Table[Tiles], used: Array, resident: Array, busiest: Array
) -> Array:
    """How often a line of a stream comes to compute units, if workgroups of one unit share what they can.

    Those share lines that run on one compute unit at the same time: every ``used``-th of the grid. Where
    those that read the same lines are far apart in it, only the first of each unit begin together, and share.
    Later workgroups come to whichever unit has room: so many that follow one another are on fewer units, as
    many as if each had been drawn at random.
    """
    shared, begin = np.maximum(1.0, stream.line_sharing), resident / busiest
    first, second = apart(tiles, resident, used)
    spaced = np.minimum(resident, stream.every // np.gcd(stream.every, used))
    first = np.where(stream.tiled, first, spaced)
    following = 1.0 + (resident - 1) * np.minimum(1.0, used / np.maximum(stream.following, 1))
    second = np.where(stream.tiled, second, np.where(stream.following > 0, following, 0.0))
    far = np.maximum(1.0, shared * (begin * first / resident + 1.0 - begin))
    near = np.where(second > 0.0, np.maximum(1.0, shared * second / resident), np.minimum(shared, used))
    later = np.minimum(near, used * (1.0 - (1.0 - 1.0 / used) ** shared))
    near = np.where(stream.following > 0, begin * near + (1.0 - begin) * later, near)
    return np.where(stream.every > 0, far, near)


def of_a_tile(stream: Table[Stream], tiles: Table[Tiles]) -> Array:
    """Workgroups that read a line of the first operand as one of their tile; others read its edges."""
    return np.maximum(1.0, stream.line_sharing * (1.0 - tiles.first_edge))


def found_in_tcc(loads: Accesses) -> Array:
    """Part of the loads of lines that other running workgroups have loaded that finds them in the TCC.

    A product's workgroups keep in step, and read a tile while others do. Where all that read a tile are in
    one compute unit, none brings it for another. A matrix that fits the TCC stays there. So 100 x 1024 x 512
    on 32 and 64 units, with four and ten workgroups each, has 217,000, 141,000, 122,000 and 63,000 TCC read
    misses in gem5, in the preview 192,000, 153,000, 139,000 and 80,000.
    """
    stream, tiles, used, running = loads.streams, loads.tiles, loads.used, loads.running
    capacity = loads.machines.tcc_bytes
    between = running * np.maximum(stream.window_bytes, 64.0)
    drifted = found_again(capacity, between, np.where(stream.reuse == "group", stream.cyclic, 0.0))
    together = IN_STEP * survives(capacity, touched(tiles, np.minimum(running, loads.profiles.workgroups)))
    beside = np.maximum(drifted, together)
    same_tile = (of_a_tile(stream, tiles) - 1.0) / np.maximum(1e-9, stream.line_sharing - 1.0)
    alone = np.minimum(1.0, same_tile) * np.gcd(stream.every, used) / used
    beside = beside * np.where(stream.every > 0, 1.0 - alone, 1.0)
    product = np.maximum(beside, survives(capacity, stream.lines * LINE))
    return np.where(stream.tiled, product, drifted)


def survives(capacity: Number, need: Number) -> Number:
    """Part of the reuse that survives in a cache with tree-PLRU replacement.

    Three quarters when the ``need`` bytes that come between just fill it, a quarter at twice that, as gem5's
    runs show.
    """
    return 1.0 / (1.0 + 0.35 * (need / capacity) ** 3)


def found_again(capacity: Array, need: Array, cyclic: Array) -> Array:
    """Part of the reuse that a cache serves: ``cyclic`` of it reads from begin to end each time."""
    return cyclic * kept_from_begin(capacity, need) + (1.0 - cyclic) * survives(capacity, need)


def kept_from_begin(capacity: Number, need: Number) -> Number:
    """Part of a buffer that is still in the cache when it is read once more from its begin.

    ``need`` bytes come between. The oldest lines go first, so that little is found once they do not fit: of
    the TCC reads of A again, none at 1.06 of its size, 28 % at 0.86, 70 % at 0.55 (256 x 256 x 256, 192 x 96
    x 256, 128 x 96 x 256 on 4 units, gem5).
    """
    return 1.0 / (1.0 + (need / (0.68 * capacity)) ** 6)
