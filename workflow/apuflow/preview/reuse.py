"""What the TCP and the TCC still have of lines that are loaded again."""

from __future__ import annotations

from math import gcd

from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import LINE, Stream

IN_STEP = 0.92
"""Of the lines that workgroups in step read for one another, those that the TCC still has."""
ALONE = 1.0
"""Lines that a workgroup brings which begins when others of its compute unit end, over those of its own."""
FOLLOW = 0.7
"""Of the workgroups of later batches that read the line of the one before, those on another compute unit:
where several end together, those that follow one another begin on one (softmax, gem5)."""
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


def reused_in_tcp(stream: Stream, machine: GpuModel, used: int, resident: int, busiest: int) -> float:
    """Accesses of a load that find their line in the TCP, brought by workgroups beside or before them."""
    copies = stream.lines * copies_of(stream, used, resident, busiest)
    within = kept_from_begin if stream.in_turn else survives
    touched = resident * (stream.group_bytes or stream.window_bytes)
    tiles = stream.tiles
    if tiles is not None:
        touched += SHARED_TILES * (tiles.step_bytes(resident, used) - touched)
    together = 0.0 if stream.reuse == "none" else within(machine.tcp_bytes, touched)
    reused = stream.beside + max(0.0, stream.accesses - stream.beside - copies) * together
    if tiles is not None:
        more = min(copies, stream.accesses) - stream.lines * tiles.units(stream.operand, used)
        turns = tiles.until_again(stream.operand, resident, used)
        reused += max(0.0, more) * survives(machine.tcp_bytes, turns)
    return reused


def asked_at_once(stream: Stream, machine: GpuModel, used: int, resident: int, workgroups: int) -> float:
    """Reads of a line of a product by other units in the same step, before it has come for the first time.

    One workgroup on each unit stays in step with the others. Several drift apart, and queue at their unit's
    link, but not where four TCCs and more ask one directory: lines wait there meanwhile.
    """
    assert stream.tiles is not None
    others = min(stream.tiles.units(stream.operand, used), stream.line_sharing) - 1.0
    begin = min(1.0, used * resident / (stream.every or workgroups))
    asked = stream.at_once * max(0.0, others) * begin
    if resident == 1:
        return asked
    all_run = used * resident >= workgroups
    drifting = (stream.steps / OUT_OF_REACH) ** 2 if stream.along_k else 0.0
    if all_run and stream.along_k and machine.directories == 1 and machine.tccs >= SEVERAL_TCCS:
        return LONGER * asked / (1.0 + drifting / LONGER**2)
    asked /= 1.0 + drifting + (stream.steps / MANY_STEPS) ** 2 * ((resident - 1) / (MANY - 1)) ** 3
    return asked / (1.0 + ((resident - 1) / (2 * machine.tccs)) ** 1.5) if stream.along_k else asked


def copies_of(stream: Stream, used: int, resident: int, busiest: int) -> float:
    """How often a line of a stream comes to compute units, if workgroups of one unit share what they can.

    Those share lines that run on one compute unit at the same time: every ``used``-th of the grid. Where
    those that read the same lines are far apart in it, only the first of each unit begin together, and share.
    """
    shared, begin = max(1.0, stream.line_sharing), resident / busiest
    if stream.tiles is not None:
        first, second = stream.tiles.apart(resident, used)
    else:
        first = float(min(resident, stream.every // gcd(stream.every, used))) if stream.every else 0.0
        second = 1.0 + (resident - 1) * min(1.0, used / stream.following) if stream.following else 0.0
    if stream.every:
        return max(1.0, shared * (begin * first / resident + (1.0 - begin) * ALONE))
    together = max(1.0, shared * second / resident) if second else min(shared, float(used))
    return begin * together + (1.0 - begin) * min(together, 1.0 + FOLLOW * (shared - 1.0))


def of_a_tile(stream: Stream) -> float:
    """Workgroups that read a line of the first operand as one of their tile; others read its edges."""
    edge = stream.tiles.first_edge if stream.tiles else 0.0
    return max(1.0, stream.line_sharing * (1.0 - edge))


def found_in_tcc(stream: Stream, machine: GpuModel, used: int, running: int, groups: int) -> float:
    """Part of the loads of lines that other running workgroups have loaded that finds them in the TCC.

    A product's workgroups keep in step, and read a tile while others do. Where all that read a tile are in
    one compute unit, none brings it for another. A matrix that fits the TCC stays there. So 100 x 1024 x 512
    on 32 and 64 units, with four and ten workgroups each, has 217,000, 141,000, 122,000 and 63,000 TCC read
    misses in gem5, in the preview 192,000, 153,000, 139,000 and 80,000.
    """
    kept = kept_from_begin if stream.cyclic and stream.reuse == "group" else survives
    between = min(running, stream.next_to) if stream.next_to else running
    drifted = kept(machine.tcc_bytes, between * max(stream.window_bytes, 64.0))
    if stream.tiles is None:
        return drifted
    together = IN_STEP * survives(machine.tcc_bytes, stream.tiles.touched(min(running, groups)))
    beside = max(drifted, together)
    if stream.every:
        same_tile = (of_a_tile(stream) - 1.0) / max(1e-9, stream.line_sharing - 1.0)
        beside *= 1.0 - min(1.0, same_tile) * gcd(stream.every, used) / used
    return max(beside, survives(machine.tcc_bytes, stream.lines * LINE))


def survives(capacity: float, need: float) -> float:
    """Part of the reuse that survives in a cache with tree-PLRU replacement.

    Three quarters when the ``need`` bytes that come between just fill it, a quarter at twice that, as gem5's
    runs show.
    """
    return 1.0 / (1.0 + 0.35 * (need / capacity) ** 3)


def kept_from_begin(capacity: float, need: float) -> float:
    """Part of a buffer that is still in the cache when it is read once more from its begin.

    ``need`` bytes come between. The oldest lines go first, so that little is found once they do not fit: of
    the TCC reads of A again, none at 1.06 of its size, 28 % at 0.86, 70 % at 0.55 (256 x 256 x 256, 192 x 96
    x 256, 128 x 96 x 256 on 4 units, gem5).
    """
    return 1.0 / (1.0 + (need / (0.68 * capacity)) ** 6)
