"""Assembly that computes on gem5 what one instruction computes on the GPU.

Each function takes an instruction and the first free vector register, and returns its replacement, or None
for an instruction that stays.

Sources: AMD's "Graphics Core Next Architecture, Generation 3" (SDWA) and "Vega Instruction Set Architecture"
(6.2.1: input modifiers; V_FRACT_F32, V_FRACT_F64, DS_SWIZZLE_B32, DS_BPERMUTE_B32, MUBUF); LLVM's "User Guide
for AMDGPU Backend" (DX10_CLAMP is on: clamp turns NaN into 0), "Syntax of AMDGPU Instruction Modifiers"
(``swizzle(...)``), and ``GCNSubtarget::zeroesHigh16BitsOfDest`` (results of 16 bits clear the upper half).
"""

from __future__ import annotations

import re
from typing import Final

# modifiers of operands and results
_SIGNED = re.compile(r"(?P<minus>-?)(?P<bar>\|?)(?P<register>[vs]\d+|[vs]\[\d+:\d+\])\|?")
_SIGN_CHANGES: Final = {
    "-": "v_xor_b32 {}, 0x80000000",
    "|": "v_and_b32 {}, 0x7fffffff",
    "-|": "v_or_b32 {}, 0x80000000",
}
_SPLIT = re.compile(r", (?![^\[]*\])")
_TRAILING = re.compile(r"(?P<operand>\S+)(?P<rest>.*)")
_MODIFIER = re.compile(r" (clamp|mul:2|mul:4|div:2)\b")
_FACTORS: Final = {"mul:2": "2.0", "mul:4": "4.0", "div:2": "0.5"}
_FLOATS: Final = {
    kind: re.compile(rf"v_(?:cvt_{kind}_\w+|(?!cvt|cmp|frexp_exp|div_scale)\w+_{kind})")
    for kind in ("f32", "f64")
}
_CARRY = re.compile(r"v_(?P<kind>add|sub|subrev)_(?:co_)?u32")
_SATURATED = re.compile(r"v_(?P<kind>add|sub|subrev)_(?P<type>u16|u32)")
_FRACTION = re.compile(r"v_fract_(?P<type>f32|f64)(?:_e32|_e64)? (?P<to>v\d+|v\[\d+:\d+\]), (?P<of>[^, ]+)$")


def without_signs(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Move each |x| or -x of a source to its own register, from ``spare`` on."""
    name, _, text = instruction.partition(" ")
    target, *sources = _SPLIT.split(text)
    before, free = list[str](), spare
    for number, source in enumerate(sources):
        word = _TRAILING.fullmatch(source)
        found = _SIGNED.fullmatch(word["operand"]) if word else None
        if word is None or found is None or not (found["minus"] or found["bar"]):
            continue
        made, operand, free = _changed(found, free)
        before += made
        sources[number] = operand + word["rest"]
    return (*before, f"{name} {', '.join((target, *sources))}") if before else None


def _changed(found: re.Match[str], free: int) -> tuple[list[str], str, int]:
    """Instructions that change the sign of a 32 or 64 bit number, its new register, the next free one."""
    register = found["register"]
    first, _, last = register[1:].strip("[]").partition(":")
    words = [f"{register[0]}{number}" for number in range(int(first), int(last or first) + 1)]
    text = _SIGN_CHANGES[found["minus"] + found["bar"]]
    made = [f"v_mov_b32 v{free + number}, {word}" for number, word in enumerate(words[:-1])]
    top, high = f"v{free + len(words) - 1}", words[-1]
    if high[0] == "s":  # with a literal, the second operand must be a vector register
        made.append(f"v_mov_b32 {top}, {high}")
        high = top
    made.append(f"{text.format(top)}, {high}")
    place = top if len(words) == 1 else f"v[{free}:{free + len(words) - 1}]"
    return made, place, free + len(words)


def without_output_modifiers(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Multiply and limit the result by separate instructions; integer sums saturate."""
    modifiers = _MODIFIER.findall(instruction)
    plain = _MODIFIER.sub("", instruction)
    name, _, text = plain.partition(" ")
    base = re.sub(r"_e(?:32|64)$", "", name)
    target, *sources = _SPLIT.split(text)
    if any(" " in word for word in (target, *sources)):  # what follows an operand: op_sel, SDWA, DPP
        return None
    factors = [_FACTORS[word] for word in modifiers if word in _FACTORS]
    for kind, floats in _FLOATS.items():
        if floats.fullmatch(base):
            limits = [("max", "0"), ("min", "1.0")] if "clamp" in modifiers else []
            applied = [("mul", factor) for factor in factors] + limits
            return plain, *(_with_constant(f"v_{name}_{kind}", target, value) for name, value in applied)
    if (found := _CARRY.fullmatch(base)) and len(sources) == 3:
        limit = "-1" if found["kind"] == "add" else "0"
        return plain, f"v_cndmask_b32_e64 {target}, {target}, {limit}, {sources[0]}"
    if (found := _SATURATED.fullmatch(base)) and len(sources) == 2:
        return _saturated(found["kind"], found["type"], target, sources, f"v{spare}")
    return None


def _with_constant(name: str, target: str, value: str) -> str:
    """An instruction on a register and a constant, which is the first operand of a 32-bit one."""
    return f"{name} {target}, " + (f"{value}, {target}" if name.endswith("f32") else f"{target}, {value}")


def _saturated(kind: str, of: str, target: str, sources: list[str], free: str) -> tuple[str, ...]:
    """Limit the second operand so that the sum or difference does not wrap."""
    first, second = reversed(sources) if kind == "subrev" else sources
    if kind == "add":
        return (
            f"v_not_b32 {free}, {first}",
            f"v_min_{of}_e64 {free}, {second}, {free}",
            f"v_add_{of}_e64 {target}, {first}, {free}",
        )
    return f"v_min_{of}_e64 {free}, {first}, {second}", f"v_sub_{of}_e64 {target}, {first}, {free}"


def fraction(instruction: str, spare: int) -> tuple[str, ...] | None:
    """x - floor(x) as in the manual; of a tiny negative x it is 1, on the GPU the next smaller number."""
    found = _FRACTION.match(instruction)
    if found is None:
        return None
    number, target = found["of"], found["to"]
    if found["type"] == "f32":
        return f"v_floor_f32 v{spare}, {number}", f"v_sub_f32 {target}, {number}, v{spare}"
    floor = f"v[{spare}:{spare + 1}]"
    return f"v_floor_f64 {floor}, {number}", f"v_add_f64 {target}, {number}, -{floor}"


# words moved to wrong places
_STORE = re.compile(
    r"buffer_store_dwordx(?P<words>[23]) v\[(?P<first>\d+):\d+\], (?P<where>.*?)"
    r"(?: offset:(?P<offset>\d+))?(?P<cache>(?: (?:glc|slc))*)$"
)
_BUFFER_OFFSET: Final = (1 << 12) - 1
"""Largest offset of a buffer instruction in bytes."""
_SWIZZLE = re.compile(
    r"ds_swizzle_b32 (?P<to>v\d+), (?P<of>v\d+)"
    r"(?: offset:(?:(?P<number>\d+|0x[0-9a-f]+)|swizzle\((?P<mode>\w+),\s*(?P<given>[^)]*)\)))?$"
)
_ALL: Final = 0x1F
"""The bits of a lane's number within its half of a wavefront."""
_QUADS, _OTHERS = 0x8000, 0xC000
"""From the first number on, patterns exchange among four lanes; from the second on they rotate (GFX9)."""


def single_stores(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Store each word separately. Waits count more stores, so they are as long or longer."""
    found = _STORE.match(instruction)
    if found is None:
        return None
    words, offset = int(found["words"]), int(found["offset"] or 0)
    if offset + 4 * (words - 1) > _BUFFER_OFFSET:
        return None
    places = [offset + 4 * number for number in range(words)]
    return tuple(
        f"buffer_store_dword v{int(found['first']) + number}, {found['where']}"
        + (f" offset:{place}" if place else "")
        + found["cache"]
        for number, place in enumerate(places)
    )


def permuted(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Use ``ds_bpermute_b32``, which reads four times the source lane's number from a register."""
    found = _SWIZZLE.match(instruction)
    pattern = _pattern(found) if found else None
    if found is None or pattern is None or pattern >= _OTHERS:
        return None
    lane = f"v{spare}"
    number = (f"v_mbcnt_lo_u32_b32 {lane}, -1, 0", f"v_mbcnt_hi_u32_b32 {lane}, -1, {lane}")
    other = _in_quads(pattern, spare) if pattern & _QUADS else _by_bits(pattern, lane)
    read = (f"v_lshlrev_b32 {lane}, 2, {lane}", f"ds_bpermute_b32 {found['to']}, {lane}, {found['of']}")
    return *number, *other, *read


def _in_quads(pattern: int, spare: int) -> tuple[str, ...]:
    """The lane among four that the pattern names by two bits per lane."""
    lane, within, table = (f"v{spare + number}" for number in range(3))
    return (
        f"v_lshlrev_b32 {within}, 1, {lane}",
        f"v_and_b32 {within}, 6, {within}",
        f"v_mov_b32 {table}, {pattern & 0xFF:#x}",
        f"v_lshrrev_b32 {table}, {within}, {table}",
        f"v_and_b32 {table}, 3, {table}",
        f"v_and_b32 {lane}, 60, {lane}",
        f"v_or_b32 {lane}, {lane}, {table}",
    )


def _by_bits(pattern: int, lane: str) -> tuple[str, ...]:
    """``((lane & and) | or) ^ xor`` of the lower five bits; the halves of a wavefront stay apart."""
    kept, set_, turned = pattern & _ALL, pattern >> 5 & _ALL, pattern >> 10 & _ALL
    return (
        *((f"v_and_b32 {lane}, {kept | 32}, {lane}",) if kept != _ALL else ()),
        *((f"v_or_b32 {lane}, {set_}, {lane}",) if set_ else ()),
        *((f"v_xor_b32 {lane}, {turned}, {lane}",) if turned else ()),
    )


def _pattern(found: re.Match[str]) -> int | None:
    """The 16 bits of a swizzle; None: an unknown mode."""
    if found["mode"] is None:
        return int(found["number"] or "0", 0)
    given = [word.strip().strip('"') for word in found["given"].split(",")]
    match found["mode"], given:
        case "QUAD_PERM", [*lanes] if len(lanes) == 4:
            return _QUADS | sum(int(lane) << 2 * number for number, lane in enumerate(lanes))
        case "BITMASK_PERM", [bits] if re.fullmatch("[01pi]{5}", bits):
            return _of_bits(bits)
        case "BROADCAST", [size, lane]:
            return (_ALL & -int(size)) | int(lane) << 5
        case "SWAP", [size]:
            return _ALL | int(size) << 10
        case "REVERSE", [size]:
            return _ALL | (int(size) - 1) << 10
        case _:
            return None


def _of_bits(bits: str) -> int:
    """The pattern of five letters, the highest bit first: 0, 1, p (the lane's own), i (its opposite)."""
    pattern = 0
    for place, letter in enumerate(reversed(bits)):
        pattern |= {"0": 0, "1": 1 << 5, "p": 1, "i": 1 | 1 << 10}[letter] << place
    return pattern


# parts of registers and pairs
_KEPT = re.compile(r"v_(?:mad|fma|div_fixup)_\w*16")
"""Vega's instructions with three operands keep the upper half."""
_SDWA = re.compile(
    r"(?P<name>v_\w+?)(?:_sdwa)? (?P<operands>(?:[^:[]|\[\d+:\d+\])+?)"
    r"(?: dst_sel:(?P<to>\w+) dst_unused:(?P<rest>\w+))?"
    r" src0_sel:(?P<first>\w+)(?: src1_sel:(?P<second>\w+))?$"
)
_PARTS: Final = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
    "WORD_0": (0, 16), "WORD_1": (16, 16),
}  # fmt: skip
"""First bit and width of a part of a register."""
_VECTOR = re.compile(r"v\d+")
_MASK = re.compile(r"vcc|s\[\d+:\d+\]")
"""Destination of a comparison, a bit per lane."""
_TRIPLE = re.compile(
    r"(?P<name>ds_(?:read|write))_b96 "
    r"(?:(?P<to>v\[\d+:\d+\]), (?P<from>v\d+)|(?P<at>v\d+), (?P<what>v\[\d+:\d+\]))"
    r"(?: offset:(?P<offset>\d+))?$"
)
_LDS_OFFSET: Final = (1 << 16) - 1
"""Largest offset of an LDS instruction in bytes."""
_OPERAND = re.compile(r"sext\((?P<signed>[vs]\d+)\)|(?P<plain>[vs]\d+|-?\d+)")
_WIDE_MOVE = re.compile(
    r"s_mov_b64 (?P<to>s\[(?P<low>\d+):(?P<high>\d+)\]|vcc|exec), (?P<value>0x[0-9a-f]+)$"
)
_HALVES: Final = {"vcc": ("vcc_lo", "vcc_hi"), "exec": ("exec_lo", "exec_hi")}
_PARTS_TAKEN: Final = 2
"""Largest number of operands of an instruction with parts."""


def narrow(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Clear the upper half of the result, as the GPU does."""
    target = instruction.partition(" ")[2].partition(",")[0]
    if instruction.split()[0].endswith("_sdwa") or _KEPT.match(instruction) or not _VECTOR.fullmatch(target):
        return None
    return instruction, f"v_and_b32 {target}, 0xffff, {target}"


def whole(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Extract parts of registers first, and insert the result afterwards."""
    found = _SDWA.match(instruction)
    if found is None or found["rest"] not in (None, "UNUSED_PAD"):
        return None
    target, *sources = (word.strip() for word in found["operands"].split(","))
    operands = [word for source in sources if (word := _OPERAND.fullmatch(source))]
    compares = found["name"].startswith("v_cmp_")
    if not (_MASK if compares else _VECTOR).fullmatch(target):
        return None
    if len(operands) < len(sources) or len(sources) > _PARTS_TAKEN:
        return None
    narrow = found["name"].endswith("16")  # reads only the lower half of a register
    parts = [
        _PARTS.get("" if narrow and part == "WORD_0" else part or "")
        for part in found.group("first", "second")
    ]
    read = [word["signed"] or word["plain"] for word in operands]
    whole = [register for register, part in zip(read, parts, strict=False) if part is None]
    alone = not compares and len(whole) == len(read) - 1 and target not in whole
    before = list[str]()
    for number, (word, part) in enumerate(zip(operands, parts, strict=False)):
        if part is not None:
            place = target if alone else f"v{spare + len(before)}"
            take = "v_bfe_i32" if word["signed"] else "v_bfe_u32"
            before.append(f"{take} {place}, {read[number]}, {part[0]}, {part[1]}")
            read[number] = place
    after = []
    if found["to"] not in (None, "DWORD"):
        bit, width = _PARTS[found["to"]]
        after = [f"v_bfe_u32 {target}, {target}, 0, {width}", f"v_lshlrev_b32 {target}, {bit}, {target}"]
    return *before, f"{found['name']} {', '.join((target, *read))}", *after


def halves(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Move a literal to both registers of a pair, unless it may be negative."""
    found = _WIDE_MOVE.match(instruction)
    if found is None or int(found["value"], 16) >= 1 << 31:
        return None
    low, high = (f"s{found['low']}", f"s{found['high']}") if found["low"] else _HALVES[found["to"]]
    return f"s_mov_b32 {low}, {found['value']}", f"s_mov_b32 {high}, 0"


def pair_and_single(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Access three words of LDS by two instructions; the one that overwrites the address comes last.

    Waits for LDS count one instruction more, so they are as long or longer.
    """
    found = _TRIPLE.match(instruction)
    offset = int(found["offset"] or 0) if found else _LDS_OFFSET
    if found is None or offset + 8 > _LDS_OFFSET:
        return None
    address, words = found["from"] or found["at"], found["to"] or found["what"]
    first = int(words[2:].partition(":")[0])

    def part(kind: str, words: str, offset: int) -> str:
        operands = f"{words}, {address}" if found["to"] else f"{address}, {words}"
        return f"{found['name']}_{kind} {operands}" + (f" offset:{offset}" if offset else "")

    pair, single = part("b64", f"v[{first}:{first + 1}]", offset), part("b32", f"v{first + 2}", offset + 8)
    return (pair, single) if address == f"v{first + 2}" else (single, pair)


def first_lane(instruction: str, registers: int) -> tuple[str, ...] | None:
    """V_READFIRSTLANE_B32 into a scalar register whose number no vector register of the kernel has.

    Without an active lane it reads lane 63, a GPU lane 0.

    Args:
        registers: vector registers of the kernel, which gem5 gives out by four.
    """
    found = re.match(r"v_readfirstlane_b32(?:_e32|_e64)? (s(\d+)|vcc_lo|vcc_hi|m0), (v\d+)$", instruction)
    if found is None or (found[2] and int(found[2]) < -(-registers // 4) * 4):
        return None
    return f"s_ff1_i32_b64 {found[1]}, exec", f"v_readlane_b32 {found[1]}, {found[3]}, {found[1]}"
