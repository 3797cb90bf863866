"""Instructions whose results neither addresses nor control flow depend on.

A trace of what a launch executes and accesses needs only the rest of its code, the slice (M. Weiser,
"Program Slicing", ICSE 1981). It is found by liveness, from addresses, branches and masks back through the
control flow graph. A write where EXEC has few lanes ends a value's life only for readers with no more lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from apuflow.interpret.effects import EXEC_BITS, Effects, bits, effects
from apuflow.interpret.encodings import VECTOR, Instruction, Program
from apuflow.interpret.state import EXEC

_ENDS: Final = ("s_endpgm", "s_endpgm_saved", "s_setpc_b64")
_JUMPS: Final = ("s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_cbranch_g_fork", "s_cbranch_i_fork")
_SCALARS: Final = (1 << VECTOR) - 1
_NARROWS: Final = ("s_and_saveexec", "s_andn1_saveexec", "s_and_wrexec", "s_andn1_wrexec", "v_cmpx")
_MINUS_ONE: Final = 193
_MOST: Final = 50_000
"""Instructions of the longest kernel that is examined; all of a longer one runs."""


class Known(NamedTuple):
    """Of an instruction: it, what it does, and how it changes EXEC: lanes that are active may become more."""

    found: Instruction
    does: Effects
    widens: bool


@dataclass
class Straight:
    """Instructions with one way through them.

    Attributes:
        known: they. after: addresses of the blocks that may follow.
        full: at each, whether all lanes that began are active.
        near, far: registers that live at its begin, read with no more lanes active, and with others.
    """

    known: list[Known]
    after: list[int]
    full: list[bool] = field(default_factory=list)
    near: int = 0
    far: int = 0


def data_only(program: Program, entry: int, accumulation: int) -> frozenset[int]:
    """Addresses of instructions that only compute data; none where the code is not understood.

    Stores to memory are among them: who leaves them out must see to it that no load of the slice reads what
    they would have written.

    Args:
        entry: address of the kernel's first instruction.
        accumulation: number of the first accumulation register.
    """
    blocks = graph(program, entry, lambda found: _effects(found, accumulation))
    if blocks is None:
        return frozenset()
    _find_full(blocks, entry)
    for lds in (False, True):
        needed = _needed(blocks, lds)
        loads = (each for block in blocks.values() for each in block.known if each.does.lds == "load")
        if lds or not any(each.found.address in needed for each in loads):
            break
    every = {each.found.address for block in blocks.values() for each in block.known}
    return frozenset(every - needed)


def _effects(found: Instruction, accumulation: int) -> Effects | None:
    return None if found.name in _JUMPS else effects(found, accumulation)


def graph(
    program: Program, entry: int, effects_of: Callable[[Instruction], Effects | None]
) -> dict[int, Straight] | None:
    """A kernel's blocks by their first address; None: an instruction's effects are not known."""
    code: dict[int, Known] = {}
    goals: dict[int, list[int]] = {}
    leaders, left = {entry}, [entry]
    while left:
        address = left.pop()
        while address not in code:
            found = program.at(address)
            does = effects_of(found)
            if does is None or len(code) > _MOST:
                return None
            code[address] = Known(found, does, bool(does.writes & EXEC_BITS) and not _narrows(found))
            following = address + found.size
            if found.name in _ENDS:
                goals[address] = []
                break
            if found.encoding == "sopp" and "branch" in found.name:
                there = following + 4 * found.immediate
                goals[address] = [there] if found.name == "s_branch" else [there, following]
                leaders.update(goals[address])
                left += goals[address]
                break
            address = following
    return {leader: _block(leader, code, goals, leaders) for leader in leaders}


def _block(leader: int, code: dict[int, Known], goals: dict[int, list[int]], leaders: set[int]) -> Straight:
    known: list[Known] = []
    address = leader
    while True:
        known.append(code[address])
        if address in goals:
            return Straight(known, goals[address])
        address += code[address].found.size
        if address in leaders:
            return Straight(known, [address])


def _narrows(found: Instruction) -> bool:
    """Whether an instruction that writes EXEC makes no lane active."""
    if found.name.startswith(_NARROWS):
        return True
    if found.name == "s_and_b64":
        return EXEC in found.sources
    return found.name == "s_andn2_b64" and found.sources[0] == EXEC


def _find_full(blocks: dict[int, Straight], entry: int) -> None:
    """Note where all lanes are active: forward, with the scalar registers that keep such a mask."""
    states: dict[int, tuple[bool, frozenset[int]]] = {entry: (True, frozenset())}
    left = [entry]
    while left:
        leader = left.pop()
        full, saved = states[leader]
        block = blocks[leader]
        block.full.clear()
        for each in block.known:
            block.full.append(full)
            full, saved = _mask_after(each, full, saved)
        for goal in block.after:
            before = states.get(goal)
            met = (full, saved) if before is None else (full and before[0], saved & before[1])
            if met != before:
                states[goal] = met
                left.append(goal)


def _mask_after(each: Known, full: bool, saved: frozenset[int]) -> tuple[bool, frozenset[int]]:
    found, writes = each.found, each.does.writes
    was_full = full
    if writes & EXEC_BITS:
        sources = found.sources
        if found.name == "s_mov_b64":
            full = sources[0] == _MINUS_ONE or sources[0] in saved
        elif found.name == "s_or_b64":
            full = any(code in saved or (code == EXEC and full) for code in sources) and EXEC in sources
        elif found.name != "s_or_saveexec_b64":
            full = False
    kept = frozenset(pair for pair in saved if not writes & bits(pair, 2))
    saves = "saveexec" in found.name or (found.name == "s_mov_b64" and found.sources[0] == EXEC)
    if saves and was_full and found.target != EXEC:
        kept |= {found.target}
    return full, kept


def _needed(blocks: dict[int, Straight], lds: bool) -> set[int]:
    """Addresses of the slice; ``lds``: it reads what is written to LDS."""
    needed: set[int] = set()
    for block in blocks.values():
        block.near = block.far = 0
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks.values()):
            near = far = 0
            for goal in block.after:
                near, far = near | blocks[goal].near, far | blocks[goal].far
            before = _backward(block, near, far, lds, needed)
            changed |= before != (block.near, block.far)
            block.near, block.far = before
    return needed


def _backward(block: Straight, near: int, far: int, lds: bool, needed: set[int]) -> tuple[int, int]:
    """What lives before a block, from what lives behind it; adds the block's part of the slice."""
    for each, full in zip(reversed(block.known), reversed(block.full), strict=True):
        does = each.does
        wanted = does.steers or does.writes & (near | far) or (lds and does.lds == "store")
        if each.widens:
            near, far = 0, far | near
        near &= ~does.kills
        far &= ~(does.kills if does.whole or full else does.kills & _SCALARS)
        near |= does.addresses
        if wanted:
            near, far = near | does.reads, far | does.everywhere
            needed.add(each.found.address)
    return near, far
