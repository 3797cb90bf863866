"""Which wavefronts of a launch go on, and which wait: in turns, at barriers, where they part and meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from apuflow.core.errors import EngineError
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.blocks import Block, compile_block
from apuflow.interpret.encodings import Program
from apuflow.interpret.native import NativeProgram, State, Status
from apuflow.interpret.state import Lds, Waves

_Place = tuple[int, int]
"""Address, and which batch."""
PATIENCE: Final = 250
"""Blocks that run before wavefronts that could go on get a turn."""
_NOWHERE: Final = 1 << 62


class Running(Protocol):
    """The launch whose wavefronts these are.

    Attributes:
        executed, limit: wavefront instructions.
        groups: workgroups that have begun.
    """

    executed: int
    limit: int
    groups: int

    @property
    def all_groups(self) -> int:
        """Workgroups of the launch."""

    def block(self, program: Program, address: int) -> Block:
        """The block there."""


class TooLong(EngineError):
    """A launch has executed more wavefront instructions than it may."""


def _complete(waves: Waves) -> bool:
    """Whether all wavefronts of these workgroups are here: they need not wait at a barrier."""
    here = np.bincount(waves.group, minlength=len(waves.lds.live))
    return bool(((here == 0) | (here == waves.lds.live)).all())


@dataclass
class Pool:
    """Wavefronts that are ready, by their address, and those that wait at barriers.

    Wavefronts with the lowest address go on first: where a program branches and joins again, they meet.
    Others get a turn after a while, so that wavefronts may wait for each other in a loop.

    Attributes:
        since: the time from which each of ``ready`` has not gone on.
        clock: blocks that have run.
    """

    session: Running
    program: Program
    entry: int
    batches: Iterator[Waves]
    native: NativeProgram | None = None
    ready: dict[_Place, list[Waves]] = field(default_factory=dict)
    since: dict[_Place, int] = field(default_factory=dict)
    clock: int = 0
    waiting: list[tuple[int, Waves]] = field(default_factory=list)

    def run(self) -> None:
        """Until no wavefront is left."""
        while self._admit():
            turns = 0
            while self.ready:
                place, oldest = min(self.ready), min(self.ready, key=self.since.__getitem__)
                late = self.clock - self.since[oldest] > PATIENCE
                if late:
                    place, turns = oldest, turns + 1
                    if turns > len(self.ready):  # they may wait for workgroups that have not begun
                        self._admit()
                        turns = 0
                self.since.pop(place)
                if self._go(place[0], Waves.joined(self.ready.pop(place)), alone=late):
                    turns = 0
            if self.waiting:
                raise EngineError(
                    "wavefronts wait at a barrier that others of their workgroup never reach",
                    value=", ".join(f"{address:#x}" for address, _ in self.waiting),
                    remedy="correct the kernel: every wavefront of a workgroup has to reach its barriers",
                )

    def _admit(self) -> bool:
        waves = next(self.batches, None)
        if waves is not None:
            self._make_ready(self.entry, waves)
        return waves is not None

    def _make_ready(self, address: int, waves: Waves) -> None:
        place = address, id(waves.lds)
        self.ready.setdefault(place, []).append(waves)
        self.since.setdefault(place, self.clock)

    def _go(self, address: int, waves: Waves, *, alone: bool) -> bool:
        """Run wavefronts until they part, end, wait, tire, or meet others; whether they ended."""
        session = self.session
        others = _NOWHERE if alone else min(self.ready, default=(_NOWHERE, 0))[0]
        if self.native:
            return self._go_native(self.native, State(address, 0, PATIENCE, others), waves)
        for _ in range(PATIENCE):
            self.clock += 1
            block = session.block(self.program, address)
            if waves.watch is not None:
                waves.watch.block(block.instructions, waves)
            for step in block.steps:
                step(waves)
            count = len(waves)
            block.executions += count
            session.executed += count * len(block.instructions)
            if session.executed > session.limit:
                raise self._too_long(address)
            goal = block.next(waves)
            if goal is None:
                self._end(waves)
                return True
            if block.barrier and not _complete(waves):
                assert isinstance(goal, int)
                self._wait(goal, waves)
                return False
            together = self._parted(goal, waves)
            if together is None:
                return False
            address = together
            if address >= others:
                self._make_ready(address, waves)
                return False
        self._make_ready(address, waves)
        return False

    def _go_native(self, native: NativeProgram, state: State, waves: Waves) -> bool:
        """The same by the compiled executor, which leaves what it does not have to NumPy."""
        session = self.session
        state.limit, state.executed = session.limit, session.executed
        while True:
            before = state.patience
            status = native.run(waves, state)
            session.executed = state.executed
            self.clock += before - state.patience
            match status:
                case Status.UNKNOWN:
                    native.add(compile_block(self.program, state.address), state.address)
                case Status.LEFT:
                    native.block(state.address).steps[state.op](waves)
                    state.op += 1
                case Status.PARTED:
                    goal = native.block(state.address).next(waves)
                    assert goal is not None
                    together = self._parted(goal, waves)
                    if together is None:
                        return False
                    state.address = together
                    if together >= state.others:
                        self._make_ready(together, waves)
                        return False
                case Status.ENDED:
                    self._end(waves)
                    return True
                case Status.WAITS:
                    self._wait(state.address, waves)
                    return False
                case Status.TOO_LONG:
                    raise self._too_long(state.address)
                case _:
                    self._make_ready(state.address, waves)
                    return False

    def _too_long(self, address: int) -> TooLong:
        session = self.session
        ran = f"{session.limit:,} wavefront instructions have run"
        if session.groups < session.all_groups and not self.ready:
            return TooLong(
                f"{ran} when {session.groups:,} of {session.all_groups:,} workgroups have begun",
                remedy="launch a smaller grid, or give a higher limit",
            )
        return TooLong(
            f"{ran} and it does not end, at {address:#x}", remedy="correct its loop, or give a higher limit"
        )

    def _end(self, waves: Waves) -> None:
        np.subtract.at(waves.lds.live, waves.group, 1)
        self._release(waves.lds)

    def _wait(self, address: int, waves: Waves) -> None:
        self.waiting.append((address, waves))
        self._release(waves.lds)

    def _parted(self, goal: int | Array, waves: Waves) -> int | None:
        """Where wavefronts go on together; None: they go on by themselves."""
        if isinstance(goal, int):
            return goal
        first = int(goal[0])
        if (goal == first).all():
            return first
        for each in np.unique(goal):
            self._make_ready(int(each), waves.taken(goal == each))
        return None

    def _release(self, lds: Lds) -> None:
        """Let those go on for whom no wavefront of their workgroup is missing at the barrier."""
        mine = [(address, waves) for address, waves in self.waiting if waves.lds is lds]
        if not mine:
            return
        arrived = np.zeros(len(lds.live), np.int64)
        for _, waves in mine:
            np.add.at(arrived, waves.group, 1)
        free = arrived >= lds.live
        if not any(free[waves.group].any() for _, waves in mine):
            return
        self.waiting = [each for each in self.waiting if each[1].lds is not lds]
        for address, waves in mine:
            chosen = free[waves.group]
            if chosen.all():
                self._make_ready(address, waves)
                continue
            if chosen.any():
                self._make_ready(address, waves.taken(chosen))
            self.waiting.append((address, waves.taken(~chosen)))
