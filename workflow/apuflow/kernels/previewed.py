"""A preview of kernels from what the interpreter saw of them: no kernel is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.trace import LINE, Accesses, Traced
from apuflow.preview.instructions import Counts
from apuflow.preview.lines import PAGE
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import Profile, Reuse, Stream
from apuflow.preview.step import Found, Left, Step
from apuflow.preview.timing import Times, times

Array = NDArray[np.int64]
Chosen = NDArray[np.bool_]
Kind = Literal["load", "store"]
LINES_OF_PAGE = PAGE // LINE


def preview(traced: Sequence[Traced], kernels: Sequence[str], machine: GpuModel, inputs: float) -> Times:
    """Times of launches, one after the other in one process.

    Args:
        kernels: name of each one's kernel.
        inputs: bytes that the CPU writes before the first launch.
    """
    before = np.zeros(0, np.int64)
    ran: set[str] = set()
    steps = []
    for number, (each, kernel) in enumerate(zip(traced, kernels, strict=True)):
        profile, seen = traced_profile(each), each.accesses
        chosen = [seen.loads if stream.kind == "load" else ~seen.loads for stream in profile.streams]
        left = tuple(_left(seen.line[one], before, machine, inputs) for one in chosen)
        found = Found(left, bool(ran), kernel in ran, kernel in ran and not machine.vega, kernel in ran)
        steps.append(Step(number, 1, profile, found))
        ran.add(kernel)
        before = np.concatenate([before, seen.line])
    return times(steps, [machine] * len(steps))


def _left(lines: Array, before: Array, machine: GpuModel, inputs: float) -> Left:
    """What accesses find of lines that earlier launches and the CPU have used.

    Args:
        before: lines that earlier launches accessed, in order.
    """
    own, used = np.unique(lines), np.unique(before)
    pages, used_pages = np.unique(own // LINES_OF_PAGE), np.unique(used // LINES_OF_PAGE)
    walked = np.isin(pages, used_pages).mean() > 0.5 and len(used_pages) <= machine.l3_tlb_entries
    loaded = bool(np.isin(own, used).mean() > 0.5)
    last = before[max(0, len(before) - int(machine.tcc_bytes) // LINE) :]
    in_l2 = in_l3 = 0.0
    if not loaded:
        in_l2 = min(1.0, machine.cpu_l2_bytes / max(1.0, inputs))
        in_l3 = min(1.0 - in_l2, machine.l3_bytes / max(1.0, inputs))
    return Left(
        walked=bool(walked), loaded=loaded, cached=float(np.isin(own, last).mean()), in_l2=in_l2, in_l3=in_l3
    )


def traced_profile(traced: Traced) -> Profile:
    """What a launch does, as the timing model takes it."""
    n, waves, seen = traced.instructions, max(1, traced.wavefronts), traced.accesses
    stored = n["store"] + n["atomic"]
    counts = Counts(
        valu=n["valu"] + n["matrix"],
        salu=n["salu"],
        smem=n["scalar_memory"],
        branches=n["branch"],
        waits=n["wait"],
        barriers=n["barrier"],
        nops=n["nop"],
        ends=n["end"],
        loads=n["load"],
        stores=stored,
        lds_reads=n["lds"],
        lanes=traced.lanes,
    )
    load, store = _stream("load", n["load"], seen, seen.loads), _stream("store", stored, seen, ~seen.loads)
    return Profile(
        workgroups=traced.workgroups,
        waves_per_group=traced.waves_per_group,
        waves=waves,
        counts=counts,
        streams=tuple(stream for stream in (load, store) if stream is not None),
        code_bytes=float(traced.code_bytes),
        rounds=traced.load_waits / waves,
        walk_rounds=min(load.pages / traced.workgroups * load.sharing, 1.0) if load else 0.0,
        store_rounds=traced.store_waits / waves,
        stores_last=_stores_last(seen),
        scalar_again=max(0.0, traced.scalar_waits / waves - 1.0),
        lds_bytes=traced.lds_bytes,
        vgprs=traced.registers,
        lds_conflicts=max(0.0, traced.bank_turns / n["lds"] - 1.0) if n["lds"] else 0.0,
    )


def _stream(kind: Kind, instructions: float, seen: Accesses, chosen: Chosen) -> Stream | None:
    """All loads, or all stores; None: there are none."""
    group, line = seen.group[chosen], seen.line[chosen]
    if not len(line):
        return None
    lines, pages = len(np.unique(line)), len(np.unique(line // LINES_OF_PAGE))
    of_groups = _pairs(group, line)
    again, shared = 1.0 - of_groups / len(line), of_groups / lines
    reuse: Reuse = "group" if again > 0.05 else "device" if shared > 1.05 else "none"
    return Stream(
        kind,
        float(instructions),
        float(len(line)),
        float(lines),
        float(pages),
        reuse=reuse,
        window_bytes=_between(group, seen.turn[chosen], line) * LINE,
        sharing=_pairs(group, line // LINES_OF_PAGE) / pages,
        line_sharing=shared,
        resident=kind == "load",
    )


def _pairs(group: Array, place: Array) -> int:
    """Different pairs."""
    return len(np.unique(group << 40 | place - place.min()))


def _between(group: Array, turn: Array, line: Array) -> float:
    """Lines that a workgroup touches between two uses of a line, on average."""
    order = np.lexsort((turn, group))
    group, line = group[order], line[order]
    by_line = np.lexsort((np.arange(len(line)), line, group))
    same = (np.diff(group[by_line]) == 0) & (np.diff(line[by_line]) == 0)
    if not same.any():
        return 1.0
    again = by_line[1:][same]
    new = np.ones(len(line))
    new[again] = 0.0
    own = np.bincount(group, weights=new)
    return float(np.minimum(again - by_line[:-1][same], own[group[again]]).mean())


def _stores_last(seen: Accesses) -> bool:
    """Whether most workgroups load all before they store."""
    if seen.loads.all() or not seen.loads.any():
        return True
    groups = int(seen.group.max()) + 1
    last, first = np.zeros(groups, np.int64), np.full(groups, np.iinfo(np.int64).max)
    np.maximum.at(last, seen.group[seen.loads], seen.turn[seen.loads])
    np.minimum.at(first, seen.group[~seen.loads], seen.turn[~seen.loads])
    return bool(np.mean(last < first) > 0.5)
