"""The words of a decoded instruction: what it has beyond its registers.

See :mod:`apuflow.forms.features`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apuflow.forms import packed_words, scalar_words
from apuflow.interpret.encodings import VCC, VECTOR, Dpp, Instruction, Sdwa
from apuflow.interpret.operands import FLOATS
from apuflow.interpret.vector import meaning

_SELECTS: Final = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "unknown")
_ZERO: Final = 128
"""Code of the inline constant 0."""
_UNUSED: Final = ("pad", "sext", "preserve", "unknown")
_MULTIPLES: Final = ("", "mul2", "mul4", "div2")
_ROWS: Final = {0x10: "row_shl", 0x11: "row_shr", 0x12: "row_ror"}
_CONTROLS: Final = {
    **{0x130: "wave_shl", 0x134: "wave_rol", 0x138: "wave_shr", 0x13C: "wave_ror", 0x140: "row_mirror"},
    **{0x141: "row_half_mirror", 0x142: "row_bcast15", 0x143: "row_bcast31"},
}
_COUNTS: Final = {
    **dict.fromkeys(("v_nop", "v_clrexcp"), 0),
    **dict.fromkeys(("v_movreld_b32", "v_movrels_b32", "v_movrelsd_b32"), 1),
    **dict.fromkeys(("v_readlane_b32", "v_writelane_b32"), 2),
}
"""Sources of instructions where the decoder gives more."""
_VECTOR_ENCODINGS: Final = ("vop1", "vop2", "vopc", "vop3", "vop3p")


def features_of(found: Instruction) -> frozenset[str]:
    """Words of an instruction, without those that only a run tells."""
    if found.encoding in _VECTOR_ENCODINGS:
        return frozenset(_vector(found))
    return frozenset(scalar_words.features(found))


def _vector(found: Instruction) -> Iterator[str]:
    known = meaning(found.name)
    letters = known.sources if known else ""
    floats = () if found.encoding == "vop3p" or found.name in _COUNTS else (*FLOATS,)
    fmas = found.name.startswith("v_div_fmas")  # VCC is no operand of its own
    for place, code in enumerate(found.sources[: _COUNTS.get(found.name)]):
        read = letters[place : place + 1] != "m" or (found.encoding == "vop3" and code == VCC and not fmas)
        if read and (word := _kind(code)):
            zero = code == _ZERO and letters[place : place + 1] in floats
            yield f"{'zero' if zero else word}{place}"
        for word, bits in (("abs", found.absolute), ("neg", found.negative)):
            if bits >> place & 1 and found.encoding != "vop3p":
                yield f"{word}{place}"
    if found.clamp:
        yield "clamp"
    if found.output:
        yield _MULTIPLES[found.output]
    if found.sdwa is not None:
        yield from _sdwa(found.sdwa, len(found.sources))
    if found.dpp is not None:
        yield from _dpp(found.dpp)
    if found.encoding == "vop3" and found.select:
        yield "select_low"
    if found.encoding == "vop3p":
        yield from packed_words.features(found)


def _kind(code: int) -> str:
    """What kind of operand a code is; nothing for a vector register."""
    return "" if code >= VECTOR else scalar_words.operand_kind(code)


def _sdwa(sdwa: Sdwa, count: int) -> Iterator[str]:
    yield "sdwa"
    for place in range(min(2, count)):
        if sdwa.selects[place] != 6:
            yield f"select{place}:{_SELECTS[sdwa.selects[place]]}"
        if sdwa.signed[place]:
            yield f"sext{place}"
    if sdwa.target != 6:
        yield f"target:{_SELECTS[sdwa.target]}"
        if sdwa.unused:
            yield f"unused:{_UNUSED[sdwa.unused]}"


def _control(code: int) -> str:
    return _CONTROLS.get(code) or (_ROWS.get(code >> 4) if code & 0xF else None) or "unknown"


def _dpp(dpp: Dpp) -> Iterator[str]:
    yield "dpp"
    yield "quad_perm" if dpp.control < 0x100 else _control(dpp.control)
    if dpp.bound:
        yield "bound_ctrl"
    if dpp.rows != 0xF:
        yield "row_mask"
    if dpp.banks != 0xF:
        yield "bank_mask"
