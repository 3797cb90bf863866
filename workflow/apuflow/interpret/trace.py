"""What the wavefronts of a launch do, counted while they are executed: the input of a timing model.

Waits follow gem5's counters (``Wavefront::waitCntsSatisfied``): vector memory in order in ``vmcnt``, LDS and
scalar loads in ``lgkmcnt``, FLAT in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.core.grid import workgroups
from apuflow.interpret.arithmetic import Array, distinct
from apuflow.interpret.encodings import Instruction
from apuflow.interpret.image import Start
from apuflow.interpret.run import Executed, Launch
from apuflow.interpret.state import LANES, Lanes, Lds, Waves

LINE: Final = 64
LINE_BITS: Final = 6
BANKS: Final = 32
"""Bytes of a cache line; LDS banks, whose lanes are checked together (``LdsState::countBankConflicts``)."""
UNITS: Final = (
    *("valu", "matrix", "salu", "branch", "wait", "barrier", "nop", "end", "scalar_memory"),
    *("load", "store", "atomic", "lds"),
)
"""What instructions are counted by."""
_KNOWN_PLACES: Final = 512
"""Accesses of LDS whose turns are kept, for those that do the same again."""
_WAITS: Final = ("load", "store", "scalar")
"""What an ``s_waitcnt`` waits for that a timing model asks about."""


def unit(found: Instruction) -> str:
    """The one of ``UNITS`` that executes an instruction."""
    match found.encoding:
        case "vop1" | "vop2" | "vopc" | "vop3" | "vop3p":
            return "matrix" if found.name.startswith("v_mfma") else "valu"
        case "sopp":
            word = found.name
            if word.startswith(("s_branch", "s_cbranch")):
                return "branch"
            return {"s_waitcnt": "wait", "s_barrier": "barrier", "s_endpgm": "end"}.get(word, "nop")
        case "sop1" | "sop2" | "sopc" | "sopk":
            return "salu"
        case "smem":
            return "scalar_memory"
        case "ds":
            return "lds"
    if "atomic" in found.name:
        return "atomic"
    return "store" if "store" in found.name else "load"


_ARITHMETIC: Final = re.compile(
    r"v_(?P<packed>pk_)?(?:(?P<fused>mac|mad|fma|fmac|madmk|madak|fmamk|fmaak|mad_mix|mad_mixlo|mad_mixhi|div_fmas)"
    r"|add|sub|subrev|mul|min|max|rcp|rsq|sqrt|exp|log|sin|cos)(?:_legacy)?_f(?:16|32|64)(?:_\w+)?"
)
_DOT: Final = re.compile(r"v_dot2c?_f32_\w+")


def operations(name: str) -> int:
    """Floating point operations of a lane of a VALU instruction: additions, products, functions."""
    if _DOT.fullmatch(name):
        return 4
    found = _ARITHMETIC.fullmatch(name)
    return (2 if found["fused"] else 1) * (2 if found["packed"] else 1) if found else 0


class _Event(NamedTuple):
    """An instruction that a wait counter knows: ``load``, ``store``, ``lds``, ``scalar`` or ``wait``.

    Attributes:
        vector, other: of a wait, the most that may be left (``vmcnt``, ``lgkmcnt``); of an access, whether
            it is counted.
    """

    kind: str
    vector: int
    other: int


def _events(instructions: Sequence[Instruction]) -> list[_Event]:
    found = []
    for each in instructions:
        match unit(each):
            case "wait" if each.name == "s_waitcnt":
                bits = each.immediate & 0xFFFF
                found.append(_Event("wait", bits & 15 | bits >> 10 & 48, bits >> 8 & 15))
            case "load" | "store" | "atomic" as kind:
                returns = kind == "load" or (kind == "atomic" and "glc" in each.flags)
                found.append(_Event("load" if returns else "store", 1, int(each.encoding == "flat")))
            case "lds":
                found.append(_Event("lds", 0, 1))
            case "scalar_memory":
                found.append(_Event("scalar", 0, 1))
    return found


def _different(values: Array) -> tuple[Array, Array]:
    """Of each row the different values from 0 on: their rows, and the values."""
    values = np.sort(values, axis=1)
    new = values >= 0
    new[:, 1:] &= values[:, 1:] != values[:, :-1]
    return np.nonzero(new)[0], values[new]


def lines_of(addresses: NDArray[Any], size: int, lanes: Lanes) -> tuple[Array, Array]:
    """Different lines that each wavefront's lanes touch with ``size`` bytes: wavefronts, and lines."""
    lines = addresses >> LINE_BITS
    ends = lines if size <= 4 else addresses + (size - 1) >> LINE_BITS
    if np.array_equal(lines, ends):
        if lanes.all():
            from_first = lines - lines[:, :1]
            if (from_first == from_first[0]).all():  # wavefronts that do the same elsewhere
                pattern = distinct(from_first[0])
                found = (lines[:, :1] + pattern).ravel()
                return np.repeat(np.arange(len(lines)), len(pattern)), found
        return _different(np.where(lanes, lines, -1))
    return _different(np.concatenate([np.where(lanes, lines, -1), np.where(lanes, ends, -1)], axis=1))


@dataclass(frozen=True)
class Accesses:
    """Lines that vector memory instructions touch, a row for each line of each wavefront's instruction.

    Attributes:
        group: number of the workgroup in the grid, in the order of dispatch. first: whether a wavefront's
            instruction begins. turn: how many vector memory instructions the wavefront had executed. line:
            address over 64. address: the instruction's.
        loads, atomics: whether it is read, or changed by an atomic; else it is written.
    """

    group: NDArray[np.int64]
    first: Lanes
    turn: NDArray[np.int64]
    line: NDArray[np.int64]
    address: NDArray[np.int64]
    loads: Lanes
    atomics: Lanes


@dataclass(frozen=True)
class Traced:
    """What a launch did. Numbers are of all wavefronts that ran.

    Attributes:
        workgroups, wavefronts: that ran. waves_per_group: wavefronts of a whole workgroup.
        lds_bytes: of a workgroup. registers: vector registers of a lane.
        instructions: by the one of ``UNITS``.
        lanes: active ones of VALU instructions.
        flops: floating point operations of these lanes, without matrix instructions.
        load_waits, store_waits, scalar_waits: ``s_waitcnt`` that wait for what was not waited for before, by
            what that is; a load where it is several.
        bank_turns: accesses of LDS instructions that follow one another, in the bank that has most.
        code_bytes: that were executed at least once.
        accesses: lines.
        matrices: how often each matrix instruction ran, by name.
    """

    workgroups: int
    wavefronts: int
    waves_per_group: int
    lds_bytes: int
    registers: int
    instructions: dict[str, int]
    lanes: int
    flops: int
    load_waits: int
    store_waits: int
    scalar_waits: int
    bank_turns: int
    code_bytes: int
    accesses: Accesses
    matrices: dict[str, int] = field(default_factory=dict)

    @property
    def executed(self) -> int:
        """Wavefront instructions."""
        return sum(self.instructions.values())


def _newest(count: Array) -> NDArray[np.uint64]:
    """Bits of the newest vector memory instructions, at most 63."""
    return (np.uint64(1) << np.minimum(count, 63).astype(np.uint64)) - np.uint64(1)


@dataclass
class Trace:
    """Watches a launch (:class:`apuflow.interpret.state.Watch`); see :meth:`result`.

    Args:
        launch, start: what is launched.
    """

    launch: Launch
    start: Start
    lanes: int = 0
    flops: int = 0
    bank_turns: int = 0
    waits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_WAITS, 0))

    def __post_init__(self) -> None:
        self._groups = workgroups(self.launch.grid, self.launch.workgroup)
        self._waves_per_group = -(-math.prod(self.launch.workgroup) // LANES)
        waves = math.prod(self._groups) * self._waves_per_group
        self._turns = np.zeros(waves, np.int64)
        self._queue = np.zeros(waves, np.uint64)
        self._pending = {kind: np.zeros(waves, np.int64) for kind in ("vector", "scalar", "lds", "flat")}
        self._parts: list[tuple[Array, Lanes, Array, Array, Instruction]] = []
        self._turned: dict[tuple[int, ...], tuple[NDArray[Any], int]] = {}
        self._blocks: dict[int, tuple[list[_Event], int, int]] = {}
        self._numbers: tuple[Lds | None, Array] = None, np.zeros(0, np.int64)

    def block(self, instructions: Sequence[Instruction], waves: Waves) -> None:
        """Follow the wait counters."""
        address = instructions[0].address
        if address not in self._blocks:
            valu = sum(unit(each) in ("valu", "matrix") for each in instructions)
            flops = sum(operations(each.name) for each in instructions)
            self._blocks[address] = _events(instructions), valu, flops
        events, valu, flops = self._blocks[address]
        if valu:
            lanes = int(np.count_nonzero(waves.exec))
            self.lanes += valu * lanes
            self.flops += flops * lanes
        who, pending = waves.number, self._pending
        for event in events:
            if event.kind == "wait":
                self._wait(event, who)
                continue
            if event.vector:
                self._queue[who] = self._queue[who] << np.uint64(1) | np.uint64(event.kind == "load")
                pending["vector"][who] += 1
            if event.other:
                pending["flat" if event.vector else event.kind][who] += 1

    def _wait(self, event: _Event, who: Array) -> None:
        pending = self._pending
        issued = pending["vector"][who]
        ended = issued > event.vector
        queue = self._queue[who] & _newest(issued)
        loaded = ended & (queue >> np.uint64(min(63, event.vector)) != 0)
        self.waits["load"] += int(np.count_nonzero(loaded))
        self.waits["store"] += int(np.count_nonzero(ended & ~loaded))
        pending["vector"][who] = np.minimum(issued, event.vector)
        others = pending["scalar"][who] + pending["lds"][who]
        if event.other < 15 and len(others):
            scalar = (others > event.other) & (pending["scalar"][who] > 0)
            self.waits["scalar"] += int(np.count_nonzero(scalar & ~loaded))
            if event.other == 0:
                flat = (pending["flat"][who] > 0) & ~ended & (pending["vector"][who] > 0)
                load = flat & (queue & _newest(pending["vector"][who]) != 0)
                self.waits["load"] += int(np.count_nonzero(load))
                self.waits["store"] += int(np.count_nonzero(flat & ~load))
                pending["vector"][who] = np.where(pending["flat"][who] > 0, 0, pending["vector"][who])
                for kind in ("scalar", "lds", "flat"):
                    pending[kind][who] = 0
            else:
                pending["lds"][who] = np.minimum(pending["lds"][who], event.other)

    def vector(
        self, found: Instruction, waves: Waves, addresses: NDArray[Any], size: int, lanes: Lanes
    ) -> None:
        """Note the lines."""
        self._turns[waves.number] += 1
        wave, line = lines_of(addresses, size, lanes)
        number = self._group_numbers(waves)[waves.group[wave]]
        first = np.diff(wave, prepend=-1) != 0
        self._parts.append((number, first, self._turns[waves.number[wave]], line, found))

    def _group_numbers(self, waves: Waves) -> Array:
        if self._numbers[0] is not waves.lds:
            x, y, z = np.array(waves.lds.numbers, np.int64).T
            self._numbers = waves.lds, x + self._groups[0] * (y + self._groups[1] * z)
        return self._numbers[1]

    def lds(self, waves: Waves, inside: NDArray[Any]) -> None:
        """Count the accesses of the busiest bank."""
        key = len(inside), int(inside[0, 0]), int(inside[0, -1]), int(inside[-1, -1])
        known = self._turned.get(key) if waves.full else None
        if known is not None and np.array_equal(known[0], inside):
            self.bank_turns += known[1]
            return
        turns = self._turns_of(waves, inside)
        self.bank_turns += turns
        if waves.full and len(self._turned) < _KNOWN_PLACES:
            self._turned[key] = inside.copy(), turns

    def _turns_of(self, waves: Waves, inside: NDArray[Any]) -> int:
        turns = 0
        for first in range(0, inside.shape[1], BANKS):
            active = waves.exec[:, first : first + BANKS]
            wave, place = _different(np.where(active, inside[:, first : first + BANKS], -1))
            banks = np.zeros((len(waves), BANKS), np.int64)
            np.add.at(banks, (wave, place % BANKS), 1)
            turns += int(banks.max(axis=1).sum())
        return turns

    def result(self, executed: Executed) -> Traced:
        """What the launch did."""
        counts, matrices = dict.fromkeys(UNITS, 0), dict[str, int]()
        for found, times in executed.instructions.items():
            counts[unit(found)] += times
            if unit(found) == "matrix":
                matrices[found.name] = matrices.get(found.name, 0) + times
        parts, none = self._parts, np.zeros(0, np.int64)
        group, turn, line = (np.concatenate([none, *(part[at] for part in parts)]) for at in (0, 2, 3))
        first = np.concatenate([np.zeros(0, np.bool_), *(part[1] for part in parts)])
        lengths = [len(part[0]) for part in parts]
        address = np.repeat(np.array([part[4].address for part in parts], np.int64), lengths)
        units = np.repeat(np.array([unit(part[4]) for part in parts], str), lengths)
        return Traced(
            workgroups=executed.workgroups,
            wavefronts=executed.wavefronts,
            waves_per_group=self._waves_per_group,
            lds_bytes=self.start.lds + self.launch.lds,
            registers=self.start.registers,
            instructions=counts,
            lanes=self.lanes,
            flops=self.flops,
            load_waits=self.waits["load"],
            store_waits=self.waits["store"],
            scalar_waits=self.waits["scalar"],
            bank_turns=self.bank_turns,
            code_bytes=sum(found.size for found in executed.instructions),
            accesses=Accesses(group, first, turn, line, address, units == "load", units == "atomic"),
            matrices=matrices,
        )
