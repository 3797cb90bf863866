"""Registers that an instruction reads and writes, as sets of bits.

Bits 0 to 127 are scalar registers (VCC, M0, EXEC by their codes), ``SCC`` is the next, vector registers begin
at ``VECTOR``, accumulation registers among them as :class:`apuflow.interpret.state.Waves` has them.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from apuflow.interpret.atomics import operation
from apuflow.interpret.encodings import VCC, VECTOR, Instruction
from apuflow.interpret.lds import plain_lds
from apuflow.interpret.matrix import operand_words
from apuflow.interpret.moves import WIDTHS, Width, width_of
from apuflow.interpret.operands import keeps_half
from apuflow.interpret.scalar_unit import scalar_effects
from apuflow.interpret.state import EXEC
from apuflow.interpret.vector import meaning

SCC: Final = 128
SCC_BIT: Final = 1 << SCC
_MODE: Final = 1 << SCC + 1
EXEC_BITS: Final = 3 << EXEC
_WIDE: Final = "dUI"
_FIRST: Final = {251: 3 << VCC, 252: EXEC_BITS, 253: SCC_BIT}
"""Codes of VCCZ, EXECZ and SCC as operands."""
_PACKED: Final = re.compile(r"v_pk_\w+_(f16|i16|u16|b16|f32|b32)|v_dot2_\w+|v_(?:mad|fma)_mix(?:lo|hi)?_\w+")

Lds = Literal["", "load", "store"]


class Effects(NamedTuple):
    """What an instruction does to registers.

    Attributes:
        reads: of the lanes that are active. everywhere: of all lanes.
        addresses: read to tell where memory is accessed.
        writes: in part or whole. kills: of them, those that keep nothing, in the lanes that are active; in
            all lanes where ``whole``.
        lds: how it accesses LDS.
        steers: it decides what is executed, whoever reads its results.
    """

    reads: int = 0
    everywhere: int = 0
    addresses: int = 0
    writes: int = 0
    kills: int = 0
    whole: bool = False
    lds: Lds = ""
    steers: bool = False


def bits(first: int, count: int = 1) -> int:
    """Registers from one on."""
    return (1 << count) - 1 << first


def effects(found: Instruction, accumulation: int) -> Effects | None:
    """Of an instruction; None: they are not known.

    Args:
        accumulation: number of the first accumulation register among the vector registers.
    """
    match found.encoding:
        case "sopp":
            return _branch(found)
        case "sop1" | "sop2" | "sopc" | "sopk":
            return _scalar(found)
        case "vop1" | "vop2" | "vopc" | "vop3" | "vop3p":
            return _vector(found, accumulation)
        case "smem":
            return _scalar_memory(found)
        case "ds":
            return _lds(found, accumulation)
        case "flat" | "global" | "scratch":
            return _flat(found, accumulation)
        case "mubuf":
            return _buffer(found, accumulation)
    return None


def _branch(found: Instruction) -> Effects:
    name = found.name
    reads = SCC_BIT * ("scc" in name) | (3 << VCC) * ("vcc" in name) | EXEC_BITS * ("exec" in name)
    return Effects(reads, steers=True)


def _operand(code: int, letter: str = "u") -> int:
    """Registers of a source."""
    count = 2 if letter in _WIDE or letter == "m" else 1
    if code >= VECTOR:
        return bits(code, count)
    return bits(code, count) if code < SCC else _FIRST.get(code, 0)


def _scalar(found: Instruction) -> Effects | None:
    known = scalar_effects(found)
    if known is None:
        return None
    reads = SCC_BIT * known.reads_scc | _MODE * known.reads_mode
    for letter, code in known.sources:
        reads |= _operand(code, letter)
    writes = SCC_BIT * known.writes_scc | _MODE * known.writes_mode
    if known.result:
        writes |= _operand(found.target, known.result)
    if "exec" in found.name:  # S_..._SAVEEXEC
        reads, writes = reads | EXEC_BITS, writes | EXEC_BITS
    return Effects(reads, writes=writes, kills=writes, whole=True, steers=bool(writes & EXEC_BITS))


def _vector(found: Instruction, accumulation: int) -> Effects | None:
    name = found.name
    if name in ("v_nop", "v_clrexcp"):
        return Effects()
    if name in ("v_readlane_b32", "v_readfirstlane_b32"):
        writes = bits(found.scalar_target)
        read = _operand(found.sources[0])
        lanes = _operand(found.sources[1]) if len(found.sources) > 1 else 0
        first = "first" in name
        return Effects(lanes | read * first, read * (not first), writes=writes, kills=writes, whole=True)
    if name == "v_writelane_b32":
        reads = _operand(found.sources[0]) | _operand(found.sources[1])
        return Effects(reads, writes=bits(VECTOR + found.target))
    if name == "v_swap_b32":
        both = _operand(found.sources[0]) | bits(VECTOR + found.target)
        return Effects(both, writes=both, kills=both)
    if known := meaning(name):
        return _computed(found, known.sources, known.results, known.accumulates)
    if name.startswith(("v_mfma_", "v_smfmac_", "v_accvgpr_")):
        return _matrix(found, accumulation)
    if form := _PACKED.fullmatch(name):
        return _packed(found, 2 if form[1] in ("f32", "b32") else 1)
    return None


def _computed(found: Instruction, sources: str, results: str, accumulates: bool) -> Effects:
    reads = 0
    for letter, code in zip(sources, found.sources, strict=False):
        reads |= _operand(code, letter)
    if accumulates:
        reads |= _operand(VECTOR + found.target, sources[-1])
    writes, partial = 0, found.dpp is not None
    if results[0] != "m":
        writes = _operand(VECTOR + found.target, results[0])
        if found.sdwa is not None and found.sdwa.target != 6:
            partial = True
        elif results[0] in "hws":
            partial |= keeps_half(found)
    kills = 0 if partial else writes
    if "m" in results:
        flags = bits(found.scalar_target, 2)
        writes, kills = writes | flags, kills | flags
    if found.name.startswith("v_cmpx"):
        writes |= EXEC_BITS
    everywhere = reads if found.dpp is not None else 0
    reads |= writes & ~kills  # what is kept goes on
    return Effects(
        reads & ~everywhere, everywhere, writes=writes, kills=kills, steers=bool(writes & EXEC_BITS)
    )


def _packed(found: Instruction, count: int) -> Effects:
    reads = 0
    for code in found.sources:
        reads |= bits(code, count) if code >= VECTOR or code < SCC else _FIRST.get(code, 0)
    target = bits(VECTOR + found.target, count)
    partial = "mixlo" in found.name or "mixhi" in found.name
    accumulates = "fmac" in found.name
    return Effects(reads | target * (partial or accumulates), writes=target, kills=target * (not partial))


def _matrix(found: Instruction, accumulation: int) -> Effects | None:
    if found.name.startswith("v_accvgpr"):
        from_there, to_there = "write" not in found.name, "read" not in found.name
        code = found.sources[0]
        read = bits(code + accumulation * from_there) if code >= VECTOR else _operand(code)
        target = bits(VECTOR + found.target + accumulation * to_there)
        return Effects(read, writes=target, kills=target)
    words = operand_words(found)
    if words is None:
        return None
    read, result, flags = 0, words[-1], found.flags
    sparse = found.name.startswith("v_smfmac")
    places = zip(found.sources, words, ("a", "b", "" if sparse else "c"), strict=False)
    for code, count, flag in places:
        if code >= VECTOR:
            read |= bits(code + accumulation * (flag in flags), count)
    target = bits(VECTOR + found.target + accumulation * ("c" in flags), result)
    if sparse:
        read |= target
    return Effects(0, read, writes=target, kills=target, whole=True)


def _scalar_memory(found: Instruction) -> Effects | None:
    form = re.fullmatch(r"s_(buffer_)?load_(\w+)", found.name)
    if form is None or form[2] not in WIDTHS:
        return Effects() if found.name.startswith("s_dcache_") else None
    addresses = bits(found.sources[0], 4 if form[1] else 2)
    if "soffset" in found.flags or "imm" not in found.flags:
        addresses |= _operand(found.sources[1])
    writes = bits(found.target, WIDTHS[form[2]] // 4)
    return Effects(addresses, writes=writes, kills=writes, whole=True)


def _data(found: Instruction, number: int, width: Width, accumulation: int) -> int:
    count = max(1, width.size // 4)
    return bits(VECTOR + number + accumulation * ("acc" in found.flags), count)


def _moved(addresses: int, data: int, width: Width, loads: bool, lds: Lds = "") -> Effects:
    if not loads:
        return Effects(data, addresses=addresses, lds=lds)
    kept = width.half is not None
    return Effects(data * kept, addresses=addresses, writes=data, kills=data * (not kept), lds=lds)


def _lds(found: Instruction, accumulation: int) -> Effects | None:
    address = bits(found.sources[0])
    if found.name in ("ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32"):
        data = bits(found.sources[1]) if "permute" in found.name else 0
        target = bits(VECTOR + found.target)
        return Effects(0, address | data, writes=target, kills=target)
    form = plain_lds(found)
    if form is None:
        return None
    width, count, reads = form
    each = Width(width.size * count, half=width.half)
    if reads:
        return _moved(address, _data(found, found.target, each, accumulation), each, True, "load")
    data = 0
    for code in found.sources[1 : 1 + count]:
        data |= _data(found, code - VECTOR, width, accumulation)
    return _moved(address, data, width, False, "store")


def _global_width(found: Instruction, kind: str, rest: str) -> Width | None:
    """What a lane moves; an atomic whose old value nobody wants is a store."""
    if "lds" in found.flags or kind not in ("load", "store", "atomic"):
        return None
    if kind != "atomic":
        return width_of(rest)
    known = operation(rest)
    return None if known is None or "glc" in found.flags else Width(known.size * known.operands)


def _flat(found: Instruction, accumulation: int) -> Effects | None:
    kind, _, rest = found.name.partition("_")[2].partition("_")
    width = _global_width(found, kind, rest)
    if width is None or found.encoding == "scratch":
        return None
    saddr = found.sources[2]
    has_scalar = saddr != 0x7F and found.encoding != "flat"
    addresses = bits(found.sources[0]) | bits(saddr, 2) if has_scalar else bits(found.sources[0], 2)
    register = found.target if kind == "load" else found.sources[1] - VECTOR
    return _moved(addresses, _data(found, register, width, accumulation), width, kind == "load")


def _buffer(found: Instruction, accumulation: int) -> Effects | None:
    if found.name.startswith(("buffer_wb", "buffer_inv")):
        return Effects()
    kind, _, rest = found.name.partition("_")[2].partition("_")
    width = _global_width(found, kind, rest)
    if width is None:
        return None
    registers = ("idxen" in found.flags) + ("offen" in found.flags)
    addresses = bits(found.sources[1], 4) | _operand(found.sources[2])
    addresses |= bits(found.sources[0], registers) if registers else 0
    return _moved(addresses, _data(found, found.target, width, accumulation), width, kind == "load")
