"""Assembly of gfx906 and later GPUs that gem5's Vega build executes as these GPUs do.

Each function takes an instruction and the first free register (vector, or scalar where its line says it), and
returns its replacement, or None for an instruction that stays.

Sources: AMD's "Vega" and "Instinct MI200" and "MI300 Instruction Set Architecture" manuals (V_PACK_B32_F16,
V_PK_*_F32 with OP_SEL, DPP_ROW_MIRROR, S_LSHL1_ADD_U32, V_FMAC_F64, DS_BPERMUTE_B32, BUFFER_WBL2, S_SETREG).
"""

from __future__ import annotations

import re
import struct
from typing import Final

_REGISTER = r"[vs]\d+"
_NUMBER = r"-?\d+(?:\.\d+)?|0x[0-9a-f]+"
_PACK = re.compile(
    rf"v_pack_b32_f16 (?P<to>v\d+), (?P<low>{_REGISTER}|{_NUMBER}), (?P<high>{_REGISTER}|{_NUMBER})"
    r"(?: op_sel:\[(?P<low_half>[01]),(?P<high_half>[01]),0\])?$"
)


def packed_halves(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Put two halves together by masks and shifts."""
    found = _PACK.match(instruction)
    if found is None:
        return None
    low, high = f"v{spare}", f"v{spare + 1}"
    made = _half(found["low"], found["low_half"] == "1", low)
    if found["high"][0] == "v" and found["high_half"] != "1":  # the shift drops the other half
        return *made, f"v_lshl_or_b32 {found['to']}, {found['high']}, 16, {low}"
    made += _half(found["high"], found["high_half"] == "1", high)
    return *made, f"v_lshl_or_b32 {found['to']}, {high}, 16, {low}"


def _half(source: str, upper: bool, to: str) -> list[str]:
    """Instructions that put half a register, or a constant, into the lower half of ``to``."""
    if source[0] not in "vs":
        number = struct.unpack("<H", struct.pack("<e", float(source)))[0] if "." in source else int(source, 0)
        return [f"v_mov_b32_e32 {to}, {number & 0xFFFF:#x}"]
    made = [f"v_mov_b32_e32 {to}, {source}"] if source[0] == "s" else []
    register = to if made else source
    return [
        *made,
        f"v_lshrrev_b32_e32 {to}, 16, {register}" if upper else f"v_and_b32_e32 {to}, 0xffff, {register}",
    ]


_PACKED = re.compile(
    r"v_pk_(?P<name>add|mul|fma)_f32 v\[(?P<to>\d+):\d+\], (?P<sources>[^ ,]+(?:, [^ ,]+)*)(?P<rest>.*)"
)
_PAIR = re.compile(r"(?P<bank>[vs])\[(?P<first>\d+):\d+\]")


def single_floats(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Compute each half of a pair of floats by itself."""
    found = _PACKED.fullmatch(instruction)
    if found is None or "clamp" in found["rest"]:
        return None
    sources = found["sources"].split(", ")
    target = [f"v{int(found['to']) + half}" for half in (0, 1)]
    made = []
    for half, names in ((0, ("op_sel", "neg_lo")), (1, ("op_sel_hi", "neg_hi"))):
        chosen = _bits(found["rest"], names[0], half, len(sources))
        signs = _bits(found["rest"], names[1], 0, len(sources))
        operands = [_element(*each) for each in zip(sources, chosen, signs, strict=True)]
        if None in operands:
            return None
        made.append([str(each) for each in operands])
    name = "v_fma_f32" if found["name"] == "fma" else f"v_{found['name']}_f32_e64"
    low, high = (f"{name} {{}}, {', '.join(operands)}" for operands in made)
    if any(target[0] == operand.lstrip("-") for operand in made[1]):
        return low.format(f"v{spare}"), high.format(target[1]), f"v_mov_b32_e32 {target[0]}, v{spare}"
    return low.format(target[0]), high.format(target[1])


def _bits(text: str, name: str, default: int, count: int) -> list[int]:
    found = re.search(rf"\b{name}:\[([01,]+)\]", text)
    return [int(bit) for bit in found[1].split(",")] if found else [default] * count


def _element(source: str, chosen: int, negative: int) -> str | None:
    """One float of an operand; None: the upper one of a constant."""
    if pair := _PAIR.fullmatch(source):
        return f"{'-' * negative}{pair['bank']}{int(pair['first']) + chosen}"
    if chosen or negative or not re.fullmatch(_NUMBER, source):
        return None
    return source


_SCALED = re.compile(r"s_lshl(?P<bits>[1-4])_add_u32 (?P<to>\w+), (?P<shifted>[\w.-]+), (?P<added>[\w.-]+)$")


def scaled_sum(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Shift into a free scalar register, and add."""
    found = _SCALED.match(instruction)
    if found is None:
        return None
    return (
        f"s_lshl_b32 s{spare}, {found['shifted']}, {found['bits']}",
        f"s_add_u32 {found['to']}, s{spare}, {found['added']}",
    )


_DPP = re.compile(
    r"(?P<name>v_\w+)_dpp (?P<to>v\d+)(?P<carry>, vcc)?, (?P<first>-?\|?v\d+\|?)"
    r"(?:, (?P<second>-?\|?v\d+\|?))?(?P<last>, vcc)? (?P<control>\S+)"
    r" row_mask:0xf bank_mask:0xf(?P<bound> bound_ctrl:\d)?$"
)
_MIRRORS: Final = {"row_mirror": 15, "row_half_mirror": 7}


def mirrored(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Read mirrored lanes by ``ds_bpermute_b32``: gem5 takes others for them."""
    found = _DPP.match(instruction)
    if found is None or found["control"] not in _MIRRORS:
        return None
    lane = f"v{spare}"
    return (
        f"v_mbcnt_lo_u32_b32 {lane}, -1, 0",
        f"v_mbcnt_hi_u32_b32 {lane}, -1, {lane}",
        f"v_xor_b32_e32 {lane}, {_MIRRORS[found['control']]}, {lane}",
        f"v_lshlrev_b32_e32 {lane}, 2, {lane}",
        f"ds_bpermute_b32 {lane}, {lane}, {found['first'].strip('-|')}",
        "s_waitcnt lgkmcnt(0)",
        _with_first(found, lane),
    )


def moved(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Move lanes first: lanes that nothing comes to read 0 (``bound_ctrl``)."""
    found = _DPP.match(instruction)
    if found is None or found["control"] in _MIRRORS:
        return None
    move = f"v_mov_b32_dpp v{spare}, {found['first'].strip('-|')} {found['control']}"
    return f"{move} row_mask:0xf bank_mask:0xf{found['bound']}", _with_first(found, f"v{spare}")


def _with_first(found: re.Match[str], register: str) -> str:
    """The instruction without DPP, on a register in place of its first operand."""
    given, second = found["first"], found["second"]
    first = given.replace(given.strip("-|"), register)
    form = "e64" if set("-|") & set(f"{first}{second or ''}") else "e32"
    operands = [found["to"] + (found["carry"] or ""), first, *([second] if second else [])]
    return f"{found['name']}_{form} {', '.join(operands)}{found['last'] or ''}"


def fused_doubles(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Name the addend: gem5 takes ``v_fmac_f64`` for a product of floats, whose number it has on Vega."""
    found = re.fullmatch(r"v_fmac_f64(?:_e32|_e64)? (v\[\d+:\d+\]), ([^,]+), ([^, ]+)", instruction)
    return (f"v_fma_f64 {found[1]}, {found[2]}, {found[3]}, {found[1]}",) if found else None


INVALIDATE: Final = (0xE0FC0000, 0)
"""``buffer_wbinvl1_vol`` of Vega, which assemblers for gfx942 do not know."""
_DEFAULT_MODES: Final = re.compile(
    r"s_setreg_imm32_b32 hwreg\(HW_REG_MODE, (?:2, 2\), (?:0|0x0)|6, 2\), (?:3|0x3))$"
)


def caches_of_vega(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """gem5's L2 is coherent: stores have reached it when they are waited for."""
    if instruction.startswith("buffer_wbl2"):
        return ("s_waitcnt vmcnt(0)",)
    if instruction.startswith("buffer_inv"):
        return tuple(f".long {word:#x}" for word in INVALIDATE)
    return None


def without_mode(instruction: str, _spare: int) -> tuple[str, ...] | None:
    """Leave out what sets a mode to what it is when a kernel begins."""
    return ("s_nop 0",) if _DEFAULT_MODES.match(instruction) else None


_ACCUMULATION = re.compile(r"\ba(?:(\d+)|\[(\d+):(\d+)\])")
_STORES = re.compile(r"(?:global|flat|buffer|scratch)_store|ds_write")
_WAITS: Final = {"ds": "lgkmcnt(0)", "flat": "vmcnt(0) lgkmcnt(0)"}


def plain_accesses(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Load and store through vector registers: gem5 does not see that an accumulation register is named."""
    if "_atomic" in instruction:
        return None
    free, moves, made, end = spare, list[tuple[int, int]](), "", 0
    for found in _ACCUMULATION.finditer(instruction):
        first, last = int(found[1] or found[2]), int(found[1] or found[3])
        free += free % 2 if last > first else 0  # tuples begin at even registers
        moves += [(free + number, first + number) for number in range(last - first + 1)]
        named = f"v{free}" if first == last else f"v[{free}:{free + last - first}]"
        made += instruction[end : found.start()] + named
        free, end = free + last - first + 1, found.end()
    plain = made + instruction[end:]
    if _STORES.match(instruction):
        return *(f"v_accvgpr_read_b32 v{to}, a{of}" for to, of in moves), plain
    wait = _WAITS.get(instruction.partition("_")[0], "vmcnt(0)")
    return plain, f"s_waitcnt {wait}", *(f"v_accvgpr_write_b32 a{of}, v{to}" for to, of in moves)
