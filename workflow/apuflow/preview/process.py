"""The launches of one process in order: what earlier ones leave for later ones.

Translations stay in the L2 and L3 TLB from kernel to kernel, and code in the TCC. On gem5 v23.0.1.0 a layer's
second kernel over the same buffers walks 0 to 6 pages of 600 (``data/gem5_runs/networks.csv``), and a kernel
that ran before starts after 2,252 cycles instead of 11,803.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from math import log
from typing import NamedTuple

from apuflow.miopen import Launch
from apuflow.miopen.launch import Arg
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import PAGE, Profile, Stream
from apuflow.rocblas.call import SCALE


class Step(NamedTuple):
    """A launch, or those of its passes that find the same.

    Attributes:
        number: of the launch, in the order in which they were given.
        times: how often.
        profile: of one of them.
    """

    number: int
    times: int
    profile: Profile


class Buffer(NamedTuple):
    """Memory that a launch uses.

    Attributes:
        role: whether it reads or writes it.
        pages: of 4 KiB.
        walked: an earlier launch used it so lately that the TLBs have its pages.
        used: an earlier launch loaded or wrote it, so that the L3 does not hold it any more.
        written: an earlier launch wrote it, so that the CPU's caches do not hold it either.
    """

    role: str
    pages: float
    walked: bool
    used: bool
    written: bool


class _State:
    """What has been used when: pages that had been touched since the process began, and bytes of code."""

    def __init__(self, tlb_pages: float, code_bytes: float) -> None:
        self.tlb_pages, self.code_bytes = tlb_pages, code_bytes
        self.clock = self.code = 0.0
        self.buffers: dict[tuple[str, int], float] = {}
        self.written: set[tuple[str, int]] = set()
        self.kernels: dict[tuple[object, ...], tuple[float, float]] = {}

    def since(self, used: float | None) -> float:
        """Pages touched since its use began; infinitely many where it was never used."""
        return float("inf") if used is None else self.clock - used


def reach(machine: GpuModel) -> tuple[int, int]:
    """All of a machine that ``steps`` reads: L3 TLB entries and bytes of an instruction cache."""
    return machine.l3_tlb_entries, machine.sqc_bytes


def steps(launches: Sequence[Launch], machine: GpuModel) -> list[Step]:
    """Launches as a process makes them, each with a profile that says what it finds.

    The first pass of a loop is a step of its own; the others find what the first has left.

    Raises:
        NotModelled: the model refuses a kernel.
    """
    state = _State(*map(float, reach(machine)))
    found: list[Step] = []
    for _, body in groupby(enumerate(launches), lambda entry: _loop(*entry)):
        members = list(body)
        before = dict(state.buffers)
        found += [Step(number, 1, _profile(launch, state, None)) for number, launch in members]
        again = members[0][1].count - 1
        if again > 0:
            found += [Step(number, again, _profile(launch, state, before)) for number, launch in members]
    return found


def _loop(number: int, launch: Launch) -> tuple[object, ...]:
    return (launch.layer, launch.direction, launch.loop) if launch.loop else (number,)


def _profile(launch: Launch, state: _State, before: dict[tuple[str, int], float] | None) -> Profile:
    """The launch's profile in this state, which it changes.

    Args:
        before: what had been used before a loop began whose first pass is over; None in the first pass.
    """
    kernel = (launch.program, launch.arguments, launch.kernel)
    buffers = _buffers(launch)
    alone = profile(facts_of(launch))
    begin, code_begin = state.clock, state.code
    result = _after(launch, alone, kernel, buffers, state, before) if state.kernels else alone
    state.clock += sum({_memory(arg): _pages(arg) for arg in buffers}.values())
    state.buffers |= {_memory(arg): begin for arg in buffers}
    state.written |= {_memory(arg) for arg in buffers if "out" in arg.role}
    state.code += alone.code_bytes
    state.kernels[kernel] = begin, code_begin
    return result


def _after(
    launch: Launch,
    alone: Profile,
    kernel: tuple[object, ...],
    buffers: Sequence[Arg],
    state: _State,
    before: dict[tuple[str, int], float] | None,
) -> Profile:
    """The profile of a launch that is not the first of its process."""
    ran, code = state.kernels.get(kernel, (None, 0.0))
    found = tuple(
        Buffer(
            arg.role,
            _pages(arg),
            state.since(_used(arg, state, before)) <= state.tlb_pages,
            _used(arg, state, before) is not None,
            _memory(arg) in state.written,
        )
        for arg in buffers
    )
    walked = state.since(ran) <= state.tlb_pages
    return _found(alone, found, _is_product(launch), walked, state.code - code <= state.code_bytes)


def _is_product(launch: Launch) -> bool:
    return launch.gemm is not None and launch.kernel != SCALE


def _buffers(launch: Launch) -> list[Arg]:
    """Buffers, of a product A, B and C, each with the bytes by which a pass begins behind the one before."""
    found: list[Arg] = []
    for arg in launch.args:
        if arg.kind == "buffer":
            found.append(arg)
        elif arg.step and found:  # an offset in elements stands behind its buffer
            found[-1] = found[-1]._replace(step=arg.step * found[-1].element_bytes)
    gemm = launch.gemm
    if gemm is None or not _is_product(launch):
        return found
    a, b, c = (found[2], found[3], found[1]) if len(found) == 4 else found[:3]  # rocBLAS: D, C, A, B
    given = ((a, gemm.step_a), (b, gemm.step_b), (c, gemm.step_c))
    return [arg._replace(step=step * arg.element_bytes) for arg, step in given]


def _used(arg: Arg, state: _State, before: dict[tuple[str, int], float] | None) -> float | None:
    """When a buffer was last used; a later pass has a part of its own of what its address steps through."""
    own = before is not None and abs(arg.step) >= PAGE
    known = before or {} if own else state.buffers
    return known.get(_memory(arg))


def _memory(arg: Arg) -> tuple[str, int]:
    """A buffer, or the part of one that begins at an offset: launches share both or neither."""
    return str(arg.value), arg.offset


def _pages(arg: Arg) -> float:
    return float(max(1, -(-arg.elements * arg.element_bytes // PAGE)))


@lru_cache(maxsize=262144)
def _found(
    alone: Profile,
    buffers: tuple[Buffer, ...],
    product: bool,
    code: bool,
    cached: bool,
) -> Profile:
    if product:  # A, B, C, and C once more where it is read
        own = [buffers[0], buffers[1], buffers[2], buffers[2]]
    else:
        own = [_buffer(stream, buffers) for stream in alone.streams]
    streams = tuple(_stream(stream, buffer) for stream, buffer in zip(alone.streams, own, strict=False))
    return replace(
        alone, streams=streams, arguments_walked=True, code_walked=code, code_cached=code and cached
    )


def _stream(stream: Stream, buffer: Buffer) -> Stream:
    resident = stream.resident and not buffer.written
    return replace(stream, walked=buffer.walked, loaded=buffer.used, resident=resident)


def _buffer(stream: Stream, buffers: tuple[Buffer, ...]) -> Buffer:
    """The buffer that a stream goes to: read or written as it is, and of the most similar size."""
    way = "in" if stream.kind == "load" else "out"
    fitting = [buffer for buffer in buffers if way in buffer.role or not buffer.role] or list(buffers)
    if not fitting:
        return Buffer("", 0.0, False, False, False)
    return min(fitting, key=lambda buffer: abs(log(buffer.pages / max(1.0, stream.pages))))
