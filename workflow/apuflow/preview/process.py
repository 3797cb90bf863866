"""The launches of one process in order: what earlier ones leave for later ones.

Translations stay in the L2 and L3 TLB from kernel to kernel. On gem5 v23.0.1.0 a layer's second kernel over
the same buffers walks 0 to 6 pages of 600 (``data/gem5_runs/networks.csv``), and a kernel that ran before
starts after 2,252 cycles instead of 11,803.

Lines stay in the TCC, too: nothing empties it between kernels. Stores bring it no lines, and change those
that it has (``GPU_VIPER-TCC.sm``). On develop, with a TCC of 256 kB, col2im misses 7 of the 1,758 lines that
the product before it wrote and the one before that had read (``data/gem5_runs/layers.csv.xz``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import log
from typing import NamedTuple, TypeAlias

from apuflow.core.products import SCALE
from apuflow.miopen import Launch
from apuflow.miopen.launch import Arg
from apuflow.preview.inputs import parts_held
from apuflow.preview.kept import Kept
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.lines import LINE, PAGE
from apuflow.preview.profile import Profile, Stream
from apuflow.preview.reuse import survives
from apuflow.preview.step import Found, Left, Step


class Buffer(NamedTuple):
    """Memory that a launch uses.

    Attributes:
        role, argument: whether it reads or writes it, and as what.
        pages: of 4 KiB.
        walked: an earlier launch used it so lately that the TLBs have its pages.
        touched: the most pages that one earlier launch touched of it, or of what it is a part of.
        new: of the pages of a part that follows that of an earlier pass, those that this one did not have
            (infinitely many where it follows none).
        used: an earlier launch loaded or wrote it, so that the L3 does not hold it any more.
        in_l2, in_l3: parts that the CPU's L2 and the L3 held at first; nothing where an earlier launch wrote
            it, or the CPU did not.
        cached: part of it that the TCC still has.
    """

    role: str
    argument: str
    pages: float
    walked: bool
    touched: float
    new: float
    used: bool
    in_l2: float
    in_l3: float
    cached: float


_Memory: TypeAlias = tuple[str, int]
"""A buffer, or the part of one that begins at an offset: launches share both or neither."""


class _Use(NamedTuple):
    """A buffer of a launch; ``step``: bytes by which the part of a loop's next pass begins further on."""

    memory: _Memory
    role: str
    argument: str
    pages: float
    step: int

    @property
    def on_new_pages(self) -> float:
        """Part of the passes that begin one page further on than ``step`` has in whole pages."""
        return self.step % PAGE / PAGE


class _Work(NamedTuple):
    """A launch: what it does, its kernel, its buffers."""

    profile: Profile
    kernel: tuple[object, ...]
    product: bool
    uses: Sequence[_Use]


class _State:
    """What has been used when, in what had been touched before: pages, bytes, and bytes of code."""

    def __init__(self, kept: Kept, held: Mapping[str, tuple[float, float]]) -> None:
        self.kept = kept
        self.held = held
        self.clock = self.code = 0.0
        self.launches = 0
        self.buffers: dict[_Memory, float] = {}
        self.touched: dict[str, float] = {}
        self.lines: dict[_Memory, tuple[int, float]] = {}  # launch and bytes, in the order of their last use
        self.written: set[_Memory] = set()
        self.kernels: dict[tuple[object, ...], tuple[float, float, int]] = {}

    def since(self, used: float | None) -> float:
        """Pages touched since its use began; infinitely many where it was never used."""
        return float("inf") if used is None else self.clock - used

    def in_tcc(self, launch: int) -> float:
        """Part of what a launch used that the TCC still has: later ones may use the same lines again."""
        since = 0.0
        for later, size in reversed(self.lines.values()):
            if later < launch:
                break
            since += size
        return survives(self.kept.tcc_bytes, since)


def steps(
    launches: Sequence[Launch],
    found_in: Kept,
    in_memory: bool = False,
    profiles: Sequence[Profile] | None = None,
) -> list[Step]:
    """Launches as a process makes them, each with what it finds.

    The first pass of a loop is a step of its own; the others find what the first has left.

    Args:
        found_in: what the machine keeps between them.
        in_memory: the CPU's caches do not hold the inputs of the first kernel.
        profiles: what each launch does; None: what ``kernels`` says.

    Raises:
        NotModelled: the model refuses a kernel.
    """
    held = {} if in_memory else parts_held(launches, found_in.l2_bytes, found_in.l3_bytes)
    state = _State(found_in, held)
    found: list[Step] = []
    for _, body in groupby(enumerate(launches), lambda entry: _loop(*entry)):
        members = [
            (number, launch.count, _work(launch, found_in.vega, profiles[number] if profiles else None))
            for number, launch in body
        ]
        again = members[0][1] - 1
        before = dict(state.buffers) if again > 0 else {}
        last = len(launches) == 1 and not again
        found += [
            Step(number, 1, work.profile, _finds(work, state, None, last=last)) for number, _, work in members
        ]
        if again > 0:
            for number, _, work in members:
                found += [
                    Step(number, often, work.profile, _finds(work, state, before, new_page))
                    for often, new_page in _later_passes(work, again)
                ]
    return found


def _later_passes(work: _Work, again: int) -> list[tuple[int, bool]]:
    """How many of them come to one page more than the others, and how many do not; the others last."""
    more = round(again * max((use.on_new_pages for use in work.uses), default=0.0))
    return [(often, new_page) for often, new_page in ((more, True), (again - more, False)) if often]


def _loop(number: int, launch: Launch) -> tuple[object, ...]:
    return (launch.layer, launch.direction, launch.loop) if launch.loop else (number,)


def _work(launch: Launch, vega: bool, known: Profile | None) -> _Work:
    uses = [
        _Use((str(arg.value), arg.offset), arg.role, arg.name, _pages(arg), abs(arg.step))
        for arg in _buffers(launch)
    ]
    gemm = launch.gemm
    transposed = (gemm.transpose_a, gemm.transpose_b) if gemm else None  # objects of their own
    kernel = launch.program, launch.arguments, launch.kernel, transposed
    return _Work(known or profile(facts_of(launch, vega)), kernel, _is_product(launch), uses)


def _finds(
    work: _Work,
    state: _State,
    before: dict[_Memory, float] | None,
    new_page: bool = False,
    last: bool = False,
) -> Found:
    """What the launch finds in this state, which it changes.

    Args:
        before: what had been used before a loop began whose first pass is over; None in the first pass.
        new_page: it is one of the passes whose parts of buffers begin one page further on than others do.
        last: no launch comes after it, to find what it leaves.
    """
    ran, code, fetched = state.kernels.get(work.kernel, (None, 0.0, 0))
    code_walked = state.since(ran) <= state.kept.tlb_pages
    buffers = [_buffer(use, state, before, new_page) for use in work.uses]
    used = _used(work, buffers)
    streams = work.profile.streams
    found = Found(
        tuple([_left(stream, buffer) for stream, buffer in zip(streams, used, strict=True)]),
        arguments_walked=bool(state.kernels),
        code_walked=code_walked,
        code_cached=code_walked and state.code - code < state.kept.code_bytes,
        code_kept=code_walked and state.in_tcc(fetched) > 0.5,
    )
    if not last:
        _leave(work, state, [_touched(buffer, streams, used) for buffer in buffers])
    return found


def _leave(work: _Work, state: _State, touched: Sequence[tuple[float, float]]) -> None:
    """Change the state as the launch does.

    Args:
        touched: pages and lines that it touches of each buffer; 0: not known.
    """
    begin = state.clock
    state.clock += sum({use.memory: use.pages for use in work.uses}.values())
    for use, (pages, lines) in zip(work.uses, touched, strict=True):
        state.buffers[use.memory] = begin
        if pages:
            state.touched[use.memory[0]] = max(pages, state.touched.get(use.memory[0], 0.0))
        if use.role != "out" or use.memory in state.lines:
            state.lines.pop(use.memory, None)
            state.lines[use.memory] = state.launches, LINE * lines
        if "out" in use.role:
            state.written.add(use.memory)
    state.kernels[work.kernel] = begin, state.code, state.launches
    state.code += work.profile.code_bytes
    state.launches += 1


def _buffer(use: _Use, state: _State, before: dict[_Memory, float] | None, new_page: bool) -> Buffer:
    """A buffer of a launch in this state; arguments as of ``_finds``."""
    name = use.memory[0]
    touched, held = state.touched.get(name, use.pages), state.held.get(name, (0.0, 0.0))
    if use.memory not in state.buffers:  # it is the first launch that uses it
        return Buffer(use.role, use.argument, use.pages, False, touched, float("inf"), False, *held, 0.0)
    # A later pass has a part of its own of what its address steps through.
    own = before if before is not None and use.step else state.buffers
    new = use.step // PAGE + (new_page and use.on_new_pages > 0.0) if own is before else float("inf")
    earlier = own if use.step >= LINE else state.buffers
    since = state.since((own if new else state.buffers).get(use.memory))
    walked = since <= state.kept.tlb_pages
    used = use.memory in earlier
    if use.memory in state.written:
        held = (0.0, 0.0)
    cached = 0.0
    if used and use.memory in state.lines:
        last, size = state.lines[use.memory]
        # Who reads from its begin what is larger than the TCC finds none of it.
        cached = state.in_tcc(last) if size <= state.kept.tcc_bytes else 0.0
    found = walked, touched, float(new), used, *held, round(cached, 2)
    return Buffer(use.role, use.argument, use.pages, *found)


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


def _pages(arg: Arg) -> float:
    return float(max(1, -(-arg.elements * arg.element_bytes // PAGE)))


def _used(work: _Work, buffers: Sequence[Buffer]) -> list[Buffer]:
    """The buffer that each of a launch's streams goes to."""
    streams = work.profile.streams
    if work.product:  # A, B, C, and C once more where it is read
        read = buffers[2]
        if any(stream.adders for stream in streams):  # a swap takes the line from the TCC
            read = read._replace(cached=0.0)
        return [*buffers[:3], read][: len(streams)]
    found: list[Buffer] = []
    for stream in streams:
        found.append(_used_by(stream, buffers, found))
    return found


def _touched(buffer: Buffer, streams: Sequence[Stream], used: Sequence[Buffer]) -> tuple[float, float]:
    """Pages and lines of a buffer that are touched, of all that is done with it.

    Args:
        used: the buffer that each of the streams goes to.
    """
    pages = lines = 0.0
    for stream, other in zip(streams, used, strict=True):
        if other is buffer:
            pages, lines = max(pages, stream.pages), max(lines, stream.lines)
    return pages, lines


def _left(stream: Stream, buffer: Buffer) -> Left:
    """What a stream finds of the buffer that it goes to."""
    walked = buffer.walked and 2.0 * buffer.touched > stream.pages
    new = buffer.new
    if buffer.walked and not walked:  # an earlier launch has touched few of the pages
        new = min(new, stream.pages - buffer.touched)
    in_l2, in_l3 = (buffer.in_l2, buffer.in_l3) if stream.resident else (0.0, 0.0)
    return Left(float("inf") if walked else new, walked, buffer.used, buffer.cached, in_l2, in_l3)


def _used_by(stream: Stream, buffers: Sequence[Buffer], taken: Sequence[Buffer]) -> Buffer:
    """The buffer that a stream goes to: by its name, or by its way and the most similar size.

    Args:
        taken: those of the streams before, which come last among equals.
    """
    if stream.argument:
        for buffer in buffers:
            if buffer.argument == stream.argument:
                return buffer
    way = "in" if stream.kind == "load" else "out"
    fitting = [buffer for buffer in buffers if way in buffer.role or not buffer.role] or list(buffers)
    if not fitting:
        return Buffer("", "", 0.0, False, 0.0, float("inf"), False, 0.0, 0.0, 0.0)
    best = fitting[0]
    if len(fitting) == 1:
        return best
    pages, least = max(1.0, stream.pages), float("inf")
    for buffer in fitting:
        away = abs(log(buffer.pages / pages))
        if away < least or (away == least and taken.count(buffer) < taken.count(best)):
            best, least = buffer, away
    return best
