"""MIOpen's kernels of recurrent layers: tensor operators and activations on rows with gaps, LSTM updates.

MIOpenTensorKernels.cl (Op2dTensorLite), MIOpenNeuron.cl (2DLite), MIOpenRNNHiddenStateUpdate.cl. Counts:
blocks of the kernels compiled by clang-15 -O3 for gfx801. Where a branch splits lanes by the size of their
value (tanh), both sides are counted.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import PAGE, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

_COMBINE = {
    4: ("sm3 v6 s4 wt1 br1 s3 v4 br1", "sm6 s12 wt1 v2 br1", "v18 s4 ld1 br1 v5 wt1 ld1 br1", "v34", 680),
    2: ("sm3 v6 s4 wt1 br1 s3 v4 br1", "sm6 s12 wt1 v2 br1", "v16 s2 ld1 br1 wt1 v5 ld1 br1", "v16", 576),
    1: ("sm3 s4 v4 wt1 br1 s3 v4 br1", "sm6 s12 wt1 v4 br1", "v15 s1 ld1 br1 wt1 v5 ld1 br1", "v8", 524),
}
"""Read unit -> before the rows, before the loop, loads, arithmetic; code bytes."""
_ACTIVATION = {
    (True, 1, 4): ("sm5 wt2 s19 v116 ld1 st1 en1", 852),
    (True, 1, 2): ("sm5 wt2 s17 v66 ld1 st1 en1", 540),
    (True, 1, 1): ("sm5 wt2 s16 v40 ld1 st1 en1", 380),
    (True, 2, 4): ("sm6 wt2 s61 v133 ld1 br8 st1 en1", 1272),
    (True, 2, 2): ("sm6 wt2 s37 v75 ld1 br4 st1 en1", 744),
    (True, 2, 1): ("sm6 wt2 s21 v44 ld1 st1 en1", 452),
    (False, 1, 4): ("sm8 wt3 s15 v35 ld2 st1 en1", 332),
    (False, 1, 2): ("sm8 wt3 s15 v29 ld2 st1 en1", 308),
    (False, 1, 1): ("sm8 wt3 s15 v25 ld2 st1 en1", 292),
    (False, 2, 4): ("sm9 wt8 s20 v92 ld2 br7 st1 en1", 840),
    (False, 2, 2): ("sm9 wt7 s17 v58 ld2 br2 st1 en1", 548),
    (False, 2, 1): ("sm9 wt5 s15 v40 ld2 st1 en1", 412),
}
"""(forward, mode, read unit) -> instructions of a wavefront; code bytes."""
_UPDATE = {
    ("LSTMFwdHidUpdate", 1): (
        "sm4 wt2 s5 v3 br1",
        "sm5 v8 wt1 s47 br1",
        "s23 v198 wt5 ld5 st7 br7",
        1864,
        31,
    ),
    ("LSTMFwdHidUpdate", 2): (
        "sm4 wt2 s8 v3 br1",
        "sm5 v7 wt1 s48 br1",
        "s44 v299 wt5 ld5 st7 br12",
        2776,
        37,
    ),
    ("LSTMFwdHidUpdate", 4): (
        "sm4 wt2 s9 v3 br1",
        "sm5 v7 wt1 s48 br1",
        "s64 v571 wt4 ld5 st7 br18",
        4436,
        53,
    ),
    ("LSTMBwdHidUpdate", 1): (
        "sm4 wt2 s5 v3 br1",
        "sm6 v9 wt1 s60 br1",
        "s19 v112 wt7 ld9 st6 br9",
        1448,
        25,
    ),
    ("LSTMBwdHidUpdate", 2): (
        "sm4 wt2 s8 v3 br1",
        "sm6 v8 wt1 s60 br1",
        "s19 v140 no3 wt7 ld9 st6 br9",
        1572,
        26,
    ),
    ("LSTMBwdHidUpdate", 4): (
        "sm4 wt2 s9 v3 br1",
        "sm6 v8 wt1 s60 br1",
        "s21 v187 no3 wt7 ld9 st6 br9",
        1832,
        49,
    ),
}
"""(kernel, read unit) -> head, entry, trip of a step in the middle; code bytes, vector registers."""


def _gapped(kind: str, instructions: float, rows: int, width: int, pitch: int) -> Stream:
    """Rows of a buffer, each with a gap behind it."""
    lines = rows * span_lines(4 * width, 4 * pitch)
    pages = min(pages_of(rows * pitch), rows * (1.0 + 4 * width / PAGE))
    load = kind == "load"
    sharing = max(1.0, min(4.0, 1024 / width))
    return Stream(
        "load" if load else "store", instructions, lines, lines, pages, sharing=sharing, resident=load
    )


def combine(facts: Facts) -> Profile:
    """A work-item a read unit of a row; groups of one row each, in 64s down."""
    unit, work, rows = facts.define("RD_BLCK"), facts.integer("total_work"), facts.integer("total_rows")
    before, entry, loads, arithmetic, code = _COMBINE[unit]
    across, down = facts.grid[0] // 64, facts.grid[1]
    busy, trips = ceil(work / 64), ceil(work / 64) * rows
    lanes, width = work / busy, work * unit
    counts = block("sm3 wt1 s3 v4 br1 en1") * (across * down)
    counts += block(before, lanes) * (busy * down)
    counts += block(entry, lanes) * (busy * min(rows, down))
    kept = " ld1 br1" if facts.integer("use_beta") else ""
    counts += block(f"{loads} s1 br1 wt2 {arithmetic} s2 st1 br1{kept}", lanes) * trips
    names = ["a", "b", "c"] if kept else ["a", "b"]
    streams = [_gapped("load", trips, rows, width, facts.integer(f"{name}_pitch")) for name in names]
    streams.append(_gapped("store", trips, rows, width, facts.integer("c_pitch")))
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=tuple(streams),
        code_bytes=float(code),
        rounds=float(len(names)) * max(1.0, rows / down),
        walk_rounds=float(len(names)),
        scalar_again=2.0,
        vgprs=24,
        sgprs=32,
        flops=3.0 * rows * width,
    )


def activation_of_rows(facts: Facts) -> Profile:
    """A work-item a read unit; dimension 1 runs over the rows."""
    unit, mode = facts.define("MIOPEN_READ_UNIT"), facts.define("MIOPEN_NRN_OP_ID")
    forward = "Fwd" in facts.kernel
    text, code = _ACTIVATION[forward, mode, unit]
    items, rows = facts.grid[0], facts.grid[1]
    waves = ceil(items / 64) * rows
    counts: Counts = block(text, items * rows / waves) * waves
    width = items * unit
    read, written = (("x",), "y") if forward else (("dy", "y"), "dx")
    streams = [_gapped("load", float(waves), rows, width, facts.integer(f"{one}_pitch")) for one in read]
    streams.append(_gapped("store", float(waves), rows, width, facts.integer(f"{written}_pitch")))
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=tuple(streams),
        waves=waves,
        code_bytes=float(code),
        rounds=1.0,
        walk_rounds=float(len(read)),
        vgprs=16,
        sgprs=24,
        scalar_again=1.0,
        flops=(6.0 if mode == 1 else 20.0) * rows * width,
    )


def lstm_update(facts: Facts) -> Profile:
    """A work-item takes an element of each gate, or a read unit of them, and goes on where there are more."""
    unit = facts.define("RD_BLCK")
    hidden, pitch, batch = (facts.integer(name) for name in ("hidden", "pitch", "batch"))
    head, entry, trip, code, registers = _UPDATE[facts.kernel, unit]
    items = max(1, batch * hidden // unit)
    waves = facts.workgroups * facts.waves_per_group
    busy = min(waves, ceil(items / 64))
    trips = ceil(items / 64)
    lanes = items / trips
    forward = facts.kernel == "LSTMFwdHidUpdate"
    edge = facts.integer("begin") if forward else facts.integer("end")
    counts = block(f"{head} en1") * waves + block(entry, min(items, 64 * busy) / busy) * busy
    counts += block(trip, lanes) * trips
    loads, stores = (5, 7) if forward else (9 - 2 * edge, 6)
    if not forward and edge:
        counts += block("v8 ld2 wt1", lanes) * -trips
    read = _gapped("load", float(trips), batch, hidden, pitch)
    write = _gapped("store", float(trips), batch, hidden, pitch)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(read,) * loads + (write,) * stores,
        code_bytes=float(code),
        rounds=2.0 * trips / waves,
        walk_rounds=float(loads),
        store_rounds=max(0.0, trips / waves - 1.0),
        scalar_again=2.0,
        vgprs=registers,
        sgprs=64,
        flops=(40.0 if forward else 30.0) * batch * hidden,
    )
