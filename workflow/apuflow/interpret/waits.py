"""Whether wavefronts of a launch wait in a loop until another workgroup has written memory.

How often such a loop turns depends on time, which the interpreter does not have. A launch waits if a
workgroup polls (:mod:`apuflow.interpret.polls`) a word that another one changes in the same launch.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.atomics import Operation, operation
from apuflow.interpret.encodings import VECTOR, Instruction
from apuflow.interpret.polls import Poll
from apuflow.interpret.state import Lanes, Memory, Watch, Waves

Heed: TypeAlias = Literal["no", "note", "stop"]
"""What to do about launches that wait: not to look for them, to note it, to stop them."""
_SEVERAL: Final = -1
_UNRESERVED: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)


class WaitsForOthers(EngineError):
    """A kernel's wavefronts wait in a loop until another workgroup has written.

    Attributes:
        kernel: its name. loop: bytes from its first one to the loop's.
    """

    def __init__(self, kernel: str, loop: int) -> None:
        self.kernel, self.loop = kernel, loop
        super().__init__(f"it waits for other workgroups (loop at offset {loop:#x})")


def waiting(kernel: str, loop: int) -> str:
    """That a kernel waits, in words; arguments as ``WaitsForOthers`` has them."""
    return f"kernel {kernel} waits for other workgroups (loop at offset {loop:#x})"


class Follower:
    """Watches which workgroups poll and write each word of memory, until one waits.

    Args:
        kernel, entry: its name and address. polls: by the instructions' addresses.
        left_out: addresses of instructions whose data is not computed.
        inner: is told all that happens.
        stops: WaitsForOthers is raised where a wavefront waits.

    Attributes:
        loop: bytes from the kernel's first one to the loop in which a wavefront waits; None: none does.
        numbered: numbers of the polls from 1 on, and whether only lanes that leave memory as it was wait.
        writers, readers: of each word the workgroup that writes or polls it, from 1 on, or ``_SEVERAL``.
        numbers: of each word that is polled the number of the last poll.
    """

    def __init__(
        self,
        memory: Memory,
        kernel: str,
        entry: int,
        polls: Mapping[int, Poll],
        *,
        left_out: Collection[int] = (),
        inner: Watch | None = None,
        stops: bool = False,
    ) -> None:
        self.loop: int | None = None
        self._memory, self._kernel, self._entry, self._polls = memory, kernel, entry, polls
        self._left_out, self._inner, self._stops = left_out, inner, stops
        self.numbered = {address: (n, each.unchanged) for n, (address, each) in enumerate(polls.items(), 1)}
        self.writers, self.readers, self.numbers = (_zeros(memory.end // 4 + 1) for _ in range(3))
        private = memory.places.get("private memory")
        first = private.address - memory.base if private else 0
        self._private = range(first, first + (private.size if private else 0))

    @property
    def tables(self) -> tuple[NDArray[np.int32], ...]:
        """``writers``, ``readers``, ``numbers``."""
        return self.writers, self.readers, self.numbers

    def found(self, number: int) -> None:
        """A wavefront waits at a poll; raises WaitsForOthers if the launch is to stop."""
        self.loop = list(self._polls.values())[number - 1].loop - self._entry
        if self._stops:
            raise WaitsForOthers(self._kernel, self.loop)

    def block(self, instructions: Sequence[Instruction], waves: Waves) -> None:
        """Tell the inner watch."""
        if self._inner is not None:
            self._inner.block(instructions, waves)

    def lds(self, waves: Waves, inside: NDArray[Any]) -> None:
        """Tell the inner watch."""
        if self._inner is not None:
            self._inner.lds(waves, inside)

    def vector(
        self, found: Instruction, waves: Waves, addresses: NDArray[Any], size: int, lanes: Lanes
    ) -> None:
        """Follow the words."""
        if self._inner is not None:
            self._inner.vector(found, waves, addresses, size, lanes)
        loads, poll = "_load_" in found.name, self._polls.get(found.address)
        if self.loop is not None or found.encoding == "scratch" or (loads and poll is None):
            return
        marks = np.broadcast_to(waves.lds.marks[waves.group][:, None], lanes.shape)[lanes]
        places = np.broadcast_to(addresses, lanes.shape)[lanes].astype(np.int64) - self._memory.base
        inside = (places >= 0) & (places + size <= self._memory.end)
        inside &= (places < self._private.start) | (places >= self._private.stop)
        changed = inside if loads else inside & self._changes(found, waves, places * inside, lanes)
        if poll is not None:
            waiting = inside & ~changed if poll.unchanged else inside
            self._polled(_words(places[waiting], size), marks[waiting], self.numbered[found.address][0])
        if not loads:
            self._written(_words(places[changed], size), marks[changed])

    def _changes(self, found: Instruction, waves: Waves, places: Array, lanes: Lanes) -> Lanes:
        """Lanes that change memory: all but those whose atomic leaves it as it is."""
        known = operation(found.name.partition("_atomic_")[2])
        if known is None or found.address in self._left_out:
            return np.ones(len(places), np.bool_)
        first = found.target if found.encoding == "mubuf" else found.sources[1] - VECTOR
        words, bits = known.size // 4, f"u{known.size}"
        values = [_joined(waves.v[first + n * words :][:words, lanes], known) for n in range(known.operands)]
        whole = self._memory.bytes[: self._memory.end // known.size * known.size].view(known.kind)
        old = whole[places // known.size]
        changes: Lanes = known.compute(old, *values).astype(known.kind).view(bits) != old.view(bits)
        return changes

    def _polled(self, parts: Sequence[Array], marks: Array, number: int) -> None:
        for words in parts:
            _mark(self.readers, words, marks)
            self.numbers[words] = number
            if _others(self.writers[words], marks).any():
                self.found(number)

    def _written(self, parts: Sequence[Array], marks: Array) -> None:
        for words in parts:
            _mark(self.writers, words, marks)
            waits = _others(self.readers[words], marks)
            if waits.any():
                self.found(int(self.numbers[words[waits][0]]))


def _zeros(count: int) -> NDArray[np.int32]:
    """Zeros that take memory where they are written alone."""
    return np.frombuffer(mmap.mmap(-1, 4 * count, flags=_UNRESERVED), np.int32)


def _mark(table: NDArray[np.int32], words: Array, marks: Array) -> None:
    """Note who accesses words."""
    before = table[words]
    table[words] = marks
    table[words[_others(before, marks) | (table[words] != marks)]] = _SEVERAL


def _others(by: Array, marks: Array) -> Lanes:
    """Whether another workgroup has accessed a word."""
    found: Lanes = (by != 0) & (by != marks)
    return found


def _words(places: Array, size: int) -> list[Array]:
    """Words that ``size`` bytes from these places touch."""
    first, last = places >> 2, places + size - 1 >> 2
    most = int((last - first).max(initial=-1))
    return [np.minimum(first + each, last) for each in range(most + 1)]


def _joined(rows: NDArray[np.uint32], known: Operation) -> Array:
    """Words of lanes as an operation takes them."""
    whole: Array = np.ascontiguousarray(rows.T).view(known.kind)[:, 0]
    return whole
