"""Memory instructions that a loop may repeat until another workgroup has written: found in a kernel's code.

Such a *poll* goes to the same address in every turn of a loop, and its value decides whether the loop ends.
Registers are followed through the natural loops of the control flow graph (A. Aho et al., "Compilers",
chapter 9.6). Whether other workgroups write there only a run can tell (:mod:`apuflow.interpret.waits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from apuflow.core.errors import EngineError
from apuflow.interpret.atomics import operation
from apuflow.interpret.effects import EXEC_BITS, Effects, bits, effects
from apuflow.interpret.encodings import VECTOR, Instruction, Program
from apuflow.interpret.moves import width_of
from apuflow.interpret.slices import Known, Straight, graph
from apuflow.interpret.state import EXEC

_MEMORY: Final = ("flat", "global", "mubuf")
_CALLS: Final = ("s_swappc_b64", "s_call_b64")
_SCALARS: Final = (1 << VECTOR) - 1
_NARROW: Final = 1 << 2 * VECTOR + 512
_LDS: Final = _NARROW << 1
"""Beside registers: fewer lanes may be active than where the poll was executed; LDS."""
_UNLESS_ZERO: Final = ("add", "sub", "rsub", "xor")
"""Atomic operations that leave memory as it is where the operand is 0."""
_COUNTS: Final = ("inc", "dec", "add_f", "pk_add_f16", "pk_add_bf16")
"""Atomic operations that change memory, and so do not wait."""


class Poll(NamedTuple):
    """A memory instruction that a loop may repeat.

    Attributes:
        loop: address of the loop's first instruction.
        unchanged: only lanes that leave memory as it was wait.
    """

    loop: int
    unchanged: bool


def polls(program: Program, entry: int, accumulation: int) -> Mapping[int, Poll]:
    """Those of a kernel by their addresses; none where the code is not understood.

    Args:
        entry: address of the kernel's first instruction.
        accumulation: number of the first accumulation register.
    """
    try:
        blocks = graph(program, entry, lambda found: _effects(found, accumulation))
    except EngineError:  # code that never runs may be anything
        return {}
    if blocks is None or not any(_may_poll(each.found) for block in blocks.values() for each in block.known):
        return {}
    found: dict[int, Poll] = {}
    loops = [_Loop(head, {each: blocks[each] for each in body}) for head, body in _loops(blocks, entry)]
    for loop in sorted(loops, key=lambda each: -len(each.blocks)):  # of loops in loops the inner one is named
        found |= {each.found.address: _poll(each.found, loop) for each in loop.polls()}
    return found


def _poll(found: Instruction, loop: _Loop) -> Poll:
    return Poll(loop.head, _kind(found) == "atomic" and _word(found) in _UNLESS_ZERO)


def _kind(found: Instruction) -> str:
    """``load``, ``store`` or ``atomic`` for instructions that access memory."""
    return found.name.split("_")[1] if found.encoding in _MEMORY else ""


def _word(found: Instruction) -> str:
    """An atomic operation, without its width."""
    return found.name.partition("_atomic_")[2].removesuffix("_x2").removesuffix("_f32").removesuffix("_f64")


def _may_poll(found: Instruction) -> bool:
    kind = _kind(found)
    return kind == "load" or (kind == "atomic" and "glc" in found.flags and _word(found) not in _COUNTS)


def _effects(found: Instruction, accumulation: int) -> Effects | None:
    """As :func:`apuflow.interpret.effects.effects`, of atomics that return, calls and private memory, too."""
    if found.name in _CALLS or found.name == "s_setpc_b64":
        return Effects()
    known = effects(found, accumulation)
    if known is not None:
        return known
    if _kind(found) == "atomic":
        return _returning(found)
    if found.encoding == "scratch":
        width = width_of(found.name.partition("_load_")[2])
        return Effects(writes=bits(VECTOR + found.target, max(1, width.size // 4)) if width else 0)
    return Effects()


def _returning(found: Instruction) -> Effects | None:
    known = operation(found.name.partition("_atomic_")[2])
    if known is None:
        return None
    words, buffer = known.size // 4, found.encoding == "mubuf"
    data = bits(VECTOR + found.target if buffer else found.sources[1], words * known.operands)
    if buffer:
        registers = ("idxen" in found.flags) + ("offen" in found.flags)
        addresses = bits(found.sources[1], 4) | (bits(found.sources[0], registers) if registers else 0)
    else:
        base = found.sources[2]
        scalar = found.encoding == "global" and base != 0x7F
        addresses = bits(found.sources[0], 1 if scalar else 2) | (bits(base, 2) if scalar else 0)
    writes = bits(VECTOR + found.target, words)
    return Effects(data, addresses=addresses, writes=writes, kills=writes)


def _loops(blocks: Mapping[int, Straight], entry: int) -> Iterator[tuple[int, set[int]]]:
    """Natural loops: their first block, and all."""
    before: dict[int, list[int]] = {leader: [] for leader in blocks}
    for leader, block in blocks.items():
        for goal in block.after:
            before[goal].append(leader)
    dominators = _dominators(list(blocks), before, entry)
    backs: dict[int, list[int]] = {}
    for leader, block in blocks.items():
        for goal in block.after:
            if dominators[leader] & dominators[goal] == dominators[goal]:
                backs.setdefault(goal, []).append(leader)
    for head, latches in backs.items():
        body, left = {head}, list(latches)
        while left:
            each = left.pop()
            if each not in body:
                body.add(each)
                left += before[each]
        yield head, body


def _dominators(leaders: list[int], before: Mapping[int, list[int]], entry: int) -> dict[int, int]:
    """Of each block those that every way to it goes through, as bits."""
    own = {leader: 1 << number for number, leader in enumerate(sorted(leaders))}
    found = dict.fromkeys(own, (1 << len(own)) - 1)
    found[entry] = own[entry]
    changed = True
    while changed:
        changed = False
        for leader in own:
            if leader == entry:
                continue
            met = -1
            for each in before[leader]:
                met &= found[each]
            if met | own[leader] != found[leader]:
                found[leader], changed = met | own[leader], True
    return found


@dataclass(frozen=True)
class _Loop:
    """A loop: address of its first block, and its blocks."""

    head: int
    blocks: Mapping[int, Straight]
    decided: dict[int, set[int]] = field(default_factory=dict)
    """By a block, blocks of the loop that the branch at its end decides about."""

    def polls(self) -> Iterator[Known]:
        """Memory instructions at an address that stays, whose value may end the loop."""
        chosen = [each for block in self.blocks.values() for each in block.known if _may_poll(each.found)]
        if not chosen or not any(self._leaves(leader) for leader in self.blocks):
            return
        changing = self._changing()
        swaps = [k for b in self.blocks.values() for k in b.known if "_cmpswap" in k.found.name]
        for each in chosen:
            address = each.found.address
            if changing[address] & (each.does.addresses | _compared(each)):
                continue
            ends, seen = self._followed(address)
            if ends and not any(seen[swap.found.address] & _compared(swap) for swap in swaps):
                yield each

    def _leaves(self, leader: int) -> bool:
        return any(goal not in self.blocks for goal in self.blocks[leader].after)

    def _flow(self, at_head: int, transfer: Callable[[int, Known, int], int]) -> tuple[dict[int, int], int]:
        """Follow registers through a turn: what holds before each instruction, and at the next turn."""
        begin = {self.head: at_head}
        ends, left = 0, {self.head}
        before: dict[int, int] = {}
        while left:
            leader = min(left)
            left.remove(leader)
            state = begin[leader]
            for each in self.blocks[leader].known:
                before[each.found.address] = state
                state = transfer(leader, each, state)
            for goal in self.blocks[leader].after:
                if goal == self.head:
                    ends |= state
                elif goal in self.blocks and (goal not in begin or state | begin[goal] != begin[goal]):
                    begin[goal] = state | begin.get(goal, 0)
                    left.add(goal)
        return before, ends

    def _changing(self) -> dict[int, int]:
        """Before each instruction, the registers that differ from turn to turn."""
        at_head = 0
        for block in self.blocks.values():
            for each in block.known:
                at_head |= each.does.writes
        while True:
            before, ends = self._flow(at_head, lambda _leader, each, state: _changed(each, state))
            if ends & at_head == at_head:
                return before
            at_head &= ends

    def _followed(self, address: int) -> tuple[bool, dict[int, int]]:
        """Whether a poll's value may end the loop, and before each instruction what depends on it."""
        under: set[int] = set()

        def after(leader: int, each: Known, state: int) -> int:
            return _dependent(each, state, address, leader in under)

        at_head = 0
        while True:
            before, ends = self._flow(at_head, after)
            dependent = [leader for leader in self.blocks if self._branches_on(leader, before)]
            if any(self._leaves(leader) for leader in (*dependent, *under)):
                return True, before
            more = set[int]().union(*map(self._decided_by, dependent)) - under
            if not more and ends | at_head == at_head:
                return False, before
            under |= more
            at_head |= ends

    def _branches_on(self, leader: int, dependent: Mapping[int, int]) -> bool:
        """Whether a block ends with a branch that depends on the poll."""
        last = self.blocks[leader].known[-1]
        return len(self.blocks[leader].after) == 2 and bool(last.does.reads & dependent[last.found.address])

    def _decided_by(self, leader: int) -> set[int]:
        if leader not in self.decided:
            one, other = map(self._reached, self.blocks[leader].after)
            self.decided[leader] = one ^ other
        return self.decided[leader]

    def _reached(self, goal: int) -> set[int]:
        found, left = set[int](), [goal]
        while left:
            each = left.pop()
            if each in self.blocks and each not in found and each != self.head:
                found.add(each)
                left += self.blocks[each].after
        return found


def _compared(each: Known) -> int:
    """Registers of the value that a compare-and-swap expects, which follow those of the new one."""
    if "_cmpswap" not in each.found.name:
        return 0
    words = 2 if each.found.name.endswith("_x2") else 1
    data = each.found.sources[1] if each.found.encoding != "mubuf" else VECTOR + each.found.target
    return bits(data + words, words)


def _changed(each: Known, state: int) -> int:
    """Registers that differ from turn to turn behind an instruction, from those before it."""
    does = each.does
    read = (does.reads | does.everywhere | does.addresses) & ~EXEC_BITS & state
    if read or _kind(each.found) == "atomic" or each.found.encoding == "scratch":
        return state | does.writes
    return state & ~does.kills


def _dependent(each: Known, state: int, poll: int, under: bool) -> int:
    """Registers that depend on a poll behind an instruction, from those before it.

    Args:
        poll: the poll's address. under: whether the instruction runs depends on the poll.
    """
    found, does = each.found, each.does
    if found.address == poll:
        return state & ~_NARROW | does.writes
    read = bool((does.reads | does.everywhere | does.addresses) & state)
    if not found.encoding.startswith("s") or found.encoding == "scratch":
        read |= bool(state & EXEC_BITS)  # lanes that are not active keep what they have
    if does.lds == "load":
        read |= bool(state & _LDS)
    elif does.lds == "store" and (read or under):
        state |= _LDS
    after = state | _NARROW if does.writes & EXEC_BITS else state
    if "saveexec" in found.name:
        saved = does.writes & ~EXEC_BITS
        after = after & ~does.writes | EXEC_BITS * read | saved * bool(state & EXEC_BITS)
        return after | does.writes if under else after
    if found.name == "s_or_b64" and found.target == EXEC and EXEC in found.sources:
        # Lanes come back that an s_..._saveexec has kept, those that are active among them.
        read = any(bits(code, 2) & state for code in found.sources if code != EXEC and code < VECTOR)
    if read or under:
        return after | does.writes
    return after & ~(does.kills if does.whole or not state & _NARROW else does.kills & _SCALARS)
