"""MIOpenSoftmax.cl: SoftmaxForward and SoftmaxBackward, channel mode, accurate.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902, in program order.
``NUM_BATCH`` 1 is the CSR-vector variant (one workgroup a row, three passes forward, two backward), more is
CSR-stream (values kept in registers). A reduction step runs its body only in wavefronts with an active lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, gcd, log2

from apuflow.preview.instructions import NOTHING, Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

WAVES = 4
GROUP = 256


def _iterations(length: int, step: int, first: int, lanes: int = 64) -> tuple[int, float]:
    """Trips of ``for (i = lane; i < length; i += step)`` in a wavefront, and mean active lanes per trip.

    Args:
        first: the wavefront's first lane.
    """
    trips, active = 0, 0
    start = first
    while start < length:
        trips += 1
        active += min(lanes, length - start)
        start += step
    return trips, active / trips if trips else 0.0


def _tree(size: int) -> list[int]:
    steps = []
    half = size // 2
    while half:
        steps.append(half)
        half //= 2
    return steps


@lru_cache(maxsize=64)
def _reduce(step: str, test: str, body: str) -> Counts:
    """Tree reduction over 256 lanes by four wavefronts.

    Args:
        step, test: of the loop; every wavefront executes them.
        body: executed where lanes are active.
    """
    total = NOTHING
    for half in _tree(GROUP):
        for wave in range(WAVES):
            lanes = min(64, half - 64 * wave)
            total += block(step) + block(test)
            if lanes > 0:
                total += block(body, lanes)
    return total


@lru_cache(maxsize=16384)
def _vector_forward(c: int, vega: bool) -> Counts:
    total = NOTHING
    setup, scalar = (
        ("sm4 s27 v28 wt1 br1 s10 v11 br1", "") if vega else ("sm4 s28 v27 wt1 br1 s10 v12 br1", "s1 ")
    )
    for wave in range(WAVES):
        trips, lanes = _iterations(c, GROUP, 64 * wave)
        total += block("sm1 wt1 s1 br1") + block(setup)
        if trips:
            entry = min(64, c - 64 * wave)
            total += block("s4 v7 wt1" if vega else "s4 v7", entry) + block("s1")
            total += block("v11 ld1 s2 wt1 br1", lanes) * trips
            total += block("s4 v7", entry) + block("v23 ld1 s2 wt1 br1", lanes) * trips + block("s1")
            total += block("s3 v6 lr1", entry) + block("v40 ld1 wt2 s2 st1 br1", lanes) * trips + block("br1")
        total += block("s3 lw1 wt2 ba1 br1") + block("lr1 v1 s1 br1")
        total += block("s3 lw1 wt2 ba1 br1") + block("s1 br1") + block("s5 br1") + block("en1")
    total += _reduce("s4 wt2 ba1 br1", "v1 s1 br1", scalar + "v4 lr2 lw1 wt2 br1")
    return total + _reduce("s4 wt2 ba1 br1", "v1 s1 br1", scalar + "v2 lr2 lw1 wt1 br1")


@lru_cache(maxsize=16384)
def _vector_backward(c: int, vega: bool) -> Counts:
    total = NOTHING
    setup, scalar = (
        ("sm5 s22 wt2 v27 br1 s5 v14 br1", "") if vega else ("sm5 s23 wt2 v26 br1 s5 v15 br1", "s1 ")
    )
    for wave in range(WAVES):
        trips, lanes = _iterations(c, GROUP, 64 * wave)
        total += block("sm1 wt1 s1 br1") + block(setup)
        if trips:
            entry = min(64, c - 64 * wave)
            total += block("v9 s1", entry) + block("v16 ld2 s2 wt1 br1", lanes) * trips + block("s1")
            total += block("v8 s1 lr1", entry) + block("v23 ld2 s2 wt2 st1 br1", lanes) * trips + block("br1")
        total += block("s3 lw1 wt2 ba1 br1") + block("s1 br1") + block("s5 br1") + block("en1")
    return total + _reduce("s3 wt2 ba1 br1", "s2 v1 br1", scalar + "v2 lr2 lw1 wt1 br1")


@lru_cache(maxsize=1024)
def _stream_tree(size: int, first: int, body: str) -> Counts:
    """Bodies of the reduction inside batches of ``size`` lanes, in a wavefront as of ``_stream_wave``."""
    total = NOTHING
    for half in _tree(size):
        lanes = min(64, max(1, 64 // size) * max(0, half - first))
        if lanes:
            total += block(body, lanes)
    return total


@lru_cache(maxsize=16384)
def _stream_group(c: int, batch: int, rows: int, forward: bool, vega: bool) -> Counts:
    """One workgroup of the CSR-stream variant that holds ``rows`` existing rows."""
    size = GROUP // batch
    if size == 1:
        return _single_group(rows, forward, vega)
    across = max(1, 64 // size)  # rows of a wavefront
    total = NOTHING
    for lane in range(0, GROUP, 64):
        own = max(0, min(across, rows - lane // size))
        total += _stream_wave(c, size, lane % size, own, forward, vega)
    return total


@lru_cache(maxsize=16384)
def _stream_wave(c: int, size: int, first: int, rows: int, forward: bool, vega: bool) -> Counts:
    """A wavefront of the CSR-stream variant.

    Args:
        c: channels of a row.
        size: lanes that share a row.
        first: the wavefront's first lane among these.
        rows: existing rows among those that it has lanes of.
    """
    unit = c > size  # U_BATCH_SIZE > 1 indexes registers with s_set_gpr / v_movrel
    across = max(1, 64 // size)
    trips = [max(0, min(size, 64, c - start - first)) for start in range(0, c, size)]
    # Lanes with an element in each trip, and those of them whose row exists.
    steps = [(across * each, rows * each) for each in trips if each]
    head = "sm3 v31 s10 wt1 br1" if unit else "sm3 v30 wt1 s7 br1"
    back = "sm4 v33 s9 wt1 br1" if unit else "sm4 v31 wt1 s7 br1"
    total = block(head if forward else back)
    if steps:
        entered = steps[0][0]
        entry = ("v9 s2 br1" if unit else "v8 s2 br1") if forward else ("v11 s2 br1" if unit else "v9 s2 br1")
        total += block(entry, entered) + block("s1")
        body = "v11 ld1 s4 wt1 br1" if forward else "v17 wt3 ld2 s4 br1"
        plain = "v9 ld1 wt1 br1" if forward else "v13 ld2 wt1 br1"
        total += _elements(steps, unit, body if unit else plain)
    total += block("s3 v2 lw1 wt2 ba1 br1")
    body = "lr1 lw1 wt1 v3" if forward else "lr1 lw1 wt1 v1"
    total += _stream_tree(size, first, body) + block("s2 v1 wt2 ba1 br1") * (len(_tree(size)) - 1)
    if forward:
        total += block("s2 v3 wt4 ba2 lr1 br1")
        if steps:
            total += block("s6 v3" if unit else "s5 v3", entered) + block("s1")
            for inside, _ in steps:
                total += block("s7 v20 br1" if unit else "v17 s2 br1", inside)
        total += block("s2 lw1 wt2 ba1 br1")
        total += _stream_tree(size, first, "lr1 lw1 wt1 v1") + block("s2 wt2 ba1 br1") * len(_tree(size))
    else:
        total += block("s2 wt2 ba1 br1")
    if steps:
        total += block("v5 lr1 br1" if forward else "v7 lr1 br1", entered)
        total += block("s3" if unit else "s2")
        body = "s4 v20 wt1 st1 br1" if forward else "v12 s4 wt1 st1 br1"
        plain = "wt1 v17 st1 br1" if forward else "v8 wt1 st1 br1"
        total += _elements(steps, unit, body if unit else plain)
    total += block("en1")
    if vega:  # one instruction adds with a shift; products stay in scalar registers
        total += block("s2") * -1 + block("v2", entered if steps else 64) * -bool(steps)
        total += block("wt1") * (sum(valid > 0 for _, valid in steps) if unit and forward else 0)
    return total


def _elements(steps: Sequence[tuple[int, int]], unit: bool, body: str) -> Counts:
    """A pass over a row's elements, of which ``body`` loads or stores those of rows that exist."""
    total = NOTHING
    for inside, valid in steps:
        total += block("v1 s1 br1", inside) + block("s4 v3 br1" if unit else "s3 v3 br1", inside)
        if valid:
            total += block(body, valid)
    return total


def _single_group(rows: int, forward: bool, vega: bool) -> Counts:
    """As ``_stream_group``, of one channel: nothing is reduced."""
    total = NOTHING
    less = 2 * vega
    for wave in range(WAVES):
        valid = max(0, min(64, rows - 64 * wave))
        if forward:
            each = f"sm3 v{59 - less} s{28 - less} wt7 br10 ba3 lr2 lw2 en1"
            work = "v26 ld1 st1 wt2 br2"
        else:
            each = f"sm4 v{44 - less} s{20 - less} wt3 br8 ba1 lr1 lw1 en1"
            work = "v21 ld2 st1 wt2 br2"
        total += block(each) + block(work, valid or 64) * bool(valid)
    return total


def _code_lines(c: int, size: int, forward: bool) -> float:
    """Lines of code of the CSR-stream variant with ``size`` lanes for a row, by gem5's instruction cache.

    The reductions are unrolled.
    """
    if size == 1:
        return 12.0 if forward else 9.0
    more = 2.4 if c > size else 0.0
    return (15.4 + 1.6 * log2(size) if forward else 10.9 + 0.8 * log2(size)) + more


@lru_cache(maxsize=4096)
def _stream_span(c: int, size: int, spatial: int) -> float:
    """Mean lines of a CSR-stream access: several whole rows of a wavefront, or 64 lanes of a longer row.

    With pixels (``spatial`` > 1) a row's elements lie ``spatial`` apart, and the rows of a wavefront, next
    to each other, share their lines.
    """
    if spatial > 1:
        pieces = [min(size, 64, c - first) for first in range(0, c, min(size, 64))]
        return sum(_spread(piece, spatial, max(1, 64 // size)) for piece in pieces) / len(pieces)
    if size < 64:
        across = 64 // size
        return span_lines(4 * c * across, 4 * c * across)
    pieces = [min(64, c - first) for first in range(0, min(c, size), 64)]
    return sum(span_lines(4 * piece, 4 * c) for piece in pieces) / len(pieces)


def _spread(elements: int, spatial: int, pixels: int = 1) -> float:
    """Mean lines of ``pixels`` next to each other in ``elements`` channels, which lie ``spatial`` apart."""
    apart = elements * span_lines(4 * pixels, 4 * gcd(pixels, spatial))
    return min(apart, ceil(pixels / spatial) * span_lines(4 * spatial * elements, 4))


def softmax(facts: Facts) -> Profile:
    """Forward and backward. ``facts.integer("vector_size")`` channels, ``grid_size`` rows (n*h*w)."""
    c, rows = facts.integer("vector_size"), facts.integer("grid_size")
    spatial = facts.integer("spatial_dim")
    batch, forward = facts.define("NUM_BATCH"), facts.kernel == "SoftmaxForward"
    groups = facts.workgroups
    inputs = 1 if forward else 2
    total, line_sharing, beside = lines_of(c * rows), 1.0, 0.0
    if batch == 1:
        trips = sum(_iterations(c, GROUP, 64 * w)[0] for w in range(WAVES))
        counts = (_vector_forward if forward else _vector_backward)(c, facts.vega) * rows
        passes = 3 if forward else 2
        whole, rest = divmod(c, 64)
        if spatial > 1:
            row = whole * _spread(64, spatial) + (_spread(rest, spatial) if rest else 0.0)
            line_sharing = min(float(spatial), LINE / 4)
        else:
            row = whole * span_lines(256, 4 * c) + (span_lines(4 * rest, 4 * c) if rest else 0.0)
            beside = passes * rows * max(0.0, row - span_lines(4 * c, 4 * c))
        reads = [(float(trips * passes * rows), row * passes * rows)] * inputs
        writes = (float(trips * rows), row * rows)
        rounds = passes * trips / WAVES
        window = c * 4.0 * inputs * min(spatial, LINE // 4)
        code = 1428.0 if forward else 964.0
    else:
        full, last = divmod(rows, batch)
        counts = _stream_group(c, batch, batch, forward, facts.vega) * full if full else NOTHING
        if last:
            counts += _stream_group(c, batch, last, forward, facts.vega)
        share = counts.loads / inputs
        size = GROUP // batch
        span = _stream_span(c, size, spatial)
        fetched = share * span
        if spatial > 1:
            # Wavefronts of a workgroup ask for the same lines, which are in flight or have just come.
            images = 1.0 + (batch - 1.0) / spatial
            whole_images = groups * images * span_lines(4 * spatial * c, 4 * spatial * c)
            fetched = min(fetched, whole_images)
            line_sharing = max(1.0, min(groups * _spread(c, spatial, batch), whole_images) / total)
        reads = [(share, fetched)] * inputs
        writes = (counts.stores, counts.stores * span)
        rounds = max(1.0, share / (groups * WAVES))
        window = 0.0
        code = LINE * _code_lines(c, size, forward)
    pages = pages_of(c * rows)
    piece = 4 * c * batch
    sharing = PAGE / piece + (0.0 if piece % PAGE == 0 or PAGE % piece == 0 else 1.0)
    sharing = max(1.0, sharing) if spatial == 1 else max(1.0, min(spatial, PAGE // 4) / batch)
    streams = [
        Stream(
            "load",
            instructions,
            accesses,
            total,
            pages,
            "group" if batch == 1 or spatial > 1 else "none",
            window,
            sharing=sharing,
            line_sharing=line_sharing,
            cyclic=(1.0 if forward else 0.5) if batch == 1 else 0.0,
            following=0 if batch == 1 else round(line_sharing),
            at_once=(0.6 if forward else 0.95) if spatial > 1 else 0.0,
            beside=beside,
        )
        for instructions, accesses in reads
    ]
    streams.append(
        Stream(
            "store",
            *writes,
            total,
            pages,
            sharing=sharing,
            resident=False,
            repeated="next",
        )
    )
    return Profile(
        workgroups=groups,
        waves_per_group=WAVES,
        counts=counts,
        streams=tuple(streams),
        code_bytes=code,
        rounds=rounds,
        joined_rounds=max(0.0, writes[0] / (groups * WAVES) - 1.0),
        stores_last=batch > 1,
        lds_bytes=1024,
        vgprs=16,
        sgprs=36,
        lds_conflicts=3.0,
        flops=float((5 if forward else 4) * c * rows),
    )
