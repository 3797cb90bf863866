"""Totals of a launch of many workgroups from some of them, where the others do the same at other addresses.

Workgroups are of one class if they lie alike in the grid: first, last or between them, along each axis.
Those of a class are taken to do the same if all that ran did: each memory instruction touches the same lines
from a first one on, which is a linear function of the workgroup's numbers. Then the lines of all others are
known, too. Where that does not hold, or addresses depend on contents of buffers, all workgroups have to run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.core.grid import workgroups
from apuflow.interpret.arithmetic import distinct
from apuflow.interpret.encodings import Instruction
from apuflow.interpret.run import Executed, Launch, Machine
from apuflow.interpret.trace import LINE_BITS, Accesses, Trace, Traced
from apuflow.preview.lines import PAGE

Array = NDArray[np.int64]
Ranges = tuple[range, range, range]
INSIDE: Final = 24
EDGE: Final = 8
"""Workgroups that run of a class inside of the grid, and of one at an edge."""
FEWEST: Final = 4
"""Times as many workgroups as run that a launch must have."""
_PAGE_BITS: Final = PAGE.bit_length() - 1
_LINE_BITS: Final = 40
"""Of a line beside its workgroup in one number."""
_CHUNK: Final = 1 << 22
"""Lines that are marked at once."""


class Touched(NamedTuple):
    """Different lines and pages of a launch, by what it does there."""

    lines: Mapping[str, int]
    pages: Mapping[str, int]


@dataclass(frozen=True)
class Sampled:
    """What is known of a launch from some of its workgroups.

    Attributes:
        parts: what some workgroups of each class did, and how many times that the class does.
        touched: by all workgroups.
        code_bytes: that were executed at least once.
        executed: wavefront instructions that ran.
    """

    parts: tuple[tuple[Traced, float], ...]
    touched: Touched
    code_bytes: int
    executed: int


class _Moves(NamedTuple):
    """Where a memory instruction goes: lines from a workgroup's first one on; first ones of the class."""

    kind: str
    pattern: Array
    firsts: Array


def sampled(machine: Machine, launch: Launch, limit: int) -> Sampled | None:
    """Run some workgroups of a launch's slice; None: it has too few, or they are too different.

    Raises:
        EngineError: as :meth:`apuflow.interpret.run.Machine.run` says.
    """
    extent = workgroups(launch.grid, launch.workgroup)
    classes = [(ranges, _chosen(ranges)) for ranges in _classes(extent)]
    if math.prod(extent) < FEWEST * sum(len(some) for _, some in classes):
        return None
    deferred = machine.memory.deferred
    if deferred is None or not machine.data_only(launch):
        return None
    if machine.polls(launch):  # they may wait for workgroups that would not run
        return None
    deferred.read = False
    parts, moves, code, ran = [], list[_Moves](), set[Instruction](), 0
    for ranges, some in classes:
        traced, executed = _run(machine, launch, some, limit - ran)
        ran += executed.total
        found = None if deferred.read else _moves(traced.accesses, some, ranges, extent)
        if found is None:
            return None
        moves += found
        code.update(executed.instructions)
        parts.append((traced, math.prod(map(len, ranges)) / len(some)))
    touched = _touched(machine, moves)
    return Sampled(tuple(parts), touched, sum(each.size for each in code), ran)


def _run(
    machine: Machine, launch: Launch, some: Sequence[Sequence[int]], limit: int
) -> tuple[Traced, Executed]:
    watch = Trace(launch, machine.images[launch.image].kernels[launch.kernel])
    given = [(x, y, z) for x, y, z in some]
    executed = machine.run(launch, watch=watch, workgroups=given, limit=limit, sliced=True)
    return watch.result(executed), executed


def _classes(extent: Sequence[int]) -> list[Ranges]:
    """Numbers of workgroups along each axis."""
    along = [
        [each for each in (range(0, 1), range(1, size - 1), range(max(1, size - 1), size)) if each]
        for size in extent
    ]
    return [(x, y, z) for x, y, z in itertools.product(*along)]


def _chosen(ranges: Ranges) -> list[tuple[int, int, int]]:
    """Workgroups of a class: its corners, and others spread evenly over it (Halton's sequence)."""
    total = math.prod(map(len, ranges))
    most = INSIDE if all(len(each) > 1 or each.start == 0 for each in ranges) else EDGE
    if total <= most:
        return [(x, y, z) for z in ranges[2] for y in ranges[1] for x in ranges[0]]
    corners = itertools.product(*((each[0], each[-1]) for each in ranges))
    chosen = dict.fromkeys((x, y, z) for x, y, z in corners)
    for number in itertools.count(1):
        if len(chosen) >= most:
            return list(chosen)
        x, y, z = (
            each[int(_halton(number, base) * len(each))] for each, base in zip(ranges, (2, 3, 5), strict=True)
        )
        chosen[x, y, z] = None
    raise AssertionError


def _halton(number: int, base: int) -> float:
    value, part = 0.0, 1.0
    while number:
        part /= base
        value += part * (number % base)
        number //= base
    return value


def _moves(
    seen: Accesses, some: Sequence[Sequence[int]], ranges: Ranges, extent: Sequence[int]
) -> list[_Moves] | None:
    """Of each memory instruction where a class goes; None: its workgroups do not do the same elsewhere."""
    if seen.atomics.any():
        return None
    found = []
    numbers = np.array(some, np.int64)
    strides = np.array([1, extent[0], extent[0] * extent[1]])
    order = {int(number): place for place, number in enumerate(numbers @ strides)}
    group = np.array([order[number] for number in seen.group.tolist()], np.int64)
    for address in distinct(seen.address):
        chosen = seen.address == address
        lines = _rows(group[chosen], seen.line[chosen], len(some))
        if lines is None:
            return None
        pattern = lines[0] - lines[0, 0]
        steps = _steps(numbers, lines[:, 0])
        if steps is None or (lines - lines[:, :1] != pattern).any():
            return None
        kind = "load" if seen.loads[chosen.argmax()] else "store"
        found.append(_Moves(kind, pattern, _firsts(int(lines[0, 0]), steps, numbers[0], ranges)))
    return found


def _rows(group: Array, line: Array, count: int) -> Array | None:
    """Different lines of each workgroup, ascending; None: they are not equally many."""
    first = line.min()
    pairs = distinct(group << _LINE_BITS | line - first)
    if (np.bincount(pairs >> _LINE_BITS, minlength=count) * count != len(pairs)).any():
        return None
    lines: Array = (pairs & (1 << _LINE_BITS) - 1).reshape(count, -1) + first
    return lines


def _steps(numbers: Array, first: Array) -> Array | None:
    """Lines that the first one moves by for each step along the axes; None: it is no linear function."""
    apart, moved = numbers - numbers[0], first - first[0]
    if not moved.any():
        return np.zeros(3, np.int64)
    steps = np.rint(np.linalg.lstsq(apart.astype(float), moved.astype(float), rcond=None)[0]).astype(np.int64)
    return steps if np.array_equal(apart @ steps, moved) else None


def _firsts(first: int, steps: Array, origin: Array, ranges: Ranges) -> Array:
    """First lines of all workgroups of a class, each once."""
    found = np.array([first - int(steps @ origin)])
    for step, each in zip(steps, ranges, strict=True):
        if step:
            found = (found[:, None] + step * np.arange(each.start, each.stop)).ravel()
        # an axis along which nothing moves has the same lines everywhere
    return distinct(found)


def _touched(machine: Machine, moves: Sequence[_Moves]) -> Touched:
    """Lines and pages of all workgroups; the pages of their stores are left out of memory."""
    memory = machine.memory
    first = memory.base >> LINE_BITS
    found = Touched({}, {})
    for kind in ("load", "store"):
        marked = np.zeros((len(memory.bytes) >> LINE_BITS) + 64, np.bool_)
        for each in (each for each in moves if each.kind == kind):
            rows = max(1, _CHUNK // len(each.pattern))
            for start in range(0, len(each.firsts), rows):
                marked[each.firsts[start : start + rows, None] + each.pattern - first] = True
        lines = np.flatnonzero(marked)
        pages = distinct(lines >> _PAGE_BITS - LINE_BITS)
        found.lines[kind], found.pages[kind] = len(lines), len(pages)  # type: ignore[index]
        if kind == "store" and memory.deferred is not None:
            memory.deferred.leave_out(pages << _PAGE_BITS, 1)
    return found
