"""Machine words to instructions.

Layouts: AMD's manuals "Graphics Core Next Architecture, Generation 3", "Vega", "Instinct MI100", "MI200" and
"MI300" Instruction Set Architecture, chapter "Microcode Formats".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.interpret.opcodes import Encoding, IsaName, opcodes

VCC: Final = 106
LITERAL: Final = 255
SDWA: Final = 249
DPP: Final = 250
VECTOR: Final = 256
"""Codes of an operand: VCC, a word that follows, the two changed sources, the first vector register."""
_WITH_LITERAL: Final = frozenset(
    {
        *("v_madmk_f32", "v_madak_f32", "v_madmk_f16", "v_madak_f16", "v_fmamk_f32", "v_fmaak_f32"),
        "s_setreg_imm32_b32",
    }
)
_CARRIES: Final = {
    "v_add_u32": "v_add_co_u32",
    "v_sub_u32": "v_sub_co_u32",
    "v_subrev_u32": "v_subrev_co_u32",
    "v_addc_u32": "v_addc_co_u32",
    "v_subb_u32": "v_subb_co_u32",
    "v_subbrev_u32": "v_subbrev_co_u32",
}
"""GCN3's names of additions that write a carry, and those of all later instruction sets."""


@dataclass(frozen=True)
class Sdwa:
    """Parts of registers: SRC0_SEL, SRC1_SEL, DST_SEL, DST_UNUSED and which sources keep their sign."""

    selects: tuple[int, int]
    signed: tuple[bool, bool]
    target: int
    unused: int


@dataclass(frozen=True)
class Dpp:
    """Lanes moved among each other: DPP_CTRL, ROW_MASK, BANK_MASK, BOUND_CTRL."""

    control: int
    rows: int
    banks: int
    bound: bool


@dataclass(frozen=True)
class Instruction:
    """One machine instruction; an operand is its code in the encoding, a vector register VECTOR + number.

    Attributes:
        address, size: bytes.
        target: scalar or vector register that is written, by its number; -1: none.
        scalar_target: of VOP3 instructions with two results, and of compares.
        sources: codes in the manual's order.
        literal: the word that follows, where a source is LITERAL.
        absolute, negative: one bit a source.
        output: OMOD: 1, 2, 3 for 2, 4 and a half.
        select, select_high, negative_high: OP_SEL, OP_SEL_HI, NEG_HI.
        immediate: SIMM16, signed; of MFMA, CBSZ; of MTBUF, DFMT and NFMT.
        offsets: bytes, of memory instructions.
        flags: further bits by their names in the manual.
    """

    address: int
    size: int
    encoding: Encoding
    name: str
    target: int = -1
    scalar_target: int = -1
    sources: tuple[int, ...] = ()
    literal: int = 0
    absolute: int = 0
    negative: int = 0
    clamp: bool = False
    output: int = 0
    select: int = 0
    select_high: int = 0
    negative_high: int = 0
    immediate: int = 0
    offsets: tuple[int, ...] = ()
    flags: frozenset[str] = frozenset()
    sdwa: Sdwa | None = None
    dpp: Dpp | None = None

    def __hash__(self) -> int:
        return hash((self.address, self.name))

    def __str__(self) -> str:
        return f"{self.name} at {self.address:#x}"


def decode(code: Sequence[int], address: int, isa: IsaName) -> Instruction:
    """The instruction at the beginning of ``code`` (words of 32 bits, at least three, filled up with 0).

    Raises:
        EngineError: the instruction set has no such instruction.
    """
    low, high = code[0], code[1]
    layout = next((each for each in _ENCODINGS if low & each[1] == each[2]), None)
    if layout is None:
        raise _unknown(low, address, isa, "instructions of this encoding")
    encoding, _, _, shift, width = layout
    op = low >> shift & (1 << width) - 1
    if encoding == "flat":
        encoding = _SEGMENTS[low >> 14 & 3 if isa != "gcn3" else 0]
    name = opcodes(isa).get((encoding, op))
    if name is None:
        raise _unknown(low, address, isa, f"opcode {op} of {encoding.upper()}")
    if isa == "gcn3":
        name = _CARRIES.get(name, name)
    return _FORMATS[encoding](Instruction(address, 4, encoding, name), low, high, code[2], isa)


def lacking(found: Instruction, what: str = "") -> EngineError:
    """The error for an instruction that the interpreter does not have; ``what``: in which form."""
    return EngineError(
        f"the interpreter does not have {found.name} (at {found.address:#x}){what}",
        remedy="compile without it, or run the kernel on gem5",
    )


def _unknown(word: int, address: int, isa: IsaName, what: str) -> EngineError:
    return EngineError(
        f"unknown instruction {word:#010x} at {address:#x}: {isa} has no {what}",
        remedy="compile for the GPU that the workload names, or report the instruction",
    )


_ENCODINGS: Final[tuple[tuple[Encoding, int, int, int, int], ...]] = (
    ("sop1", 0xFF800000, 0xBE800000, 8, 8),
    ("sopc", 0xFF800000, 0xBF000000, 16, 7),
    ("sopp", 0xFF800000, 0xBF800000, 16, 7),
    ("sopk", 0xF0000000, 0xB0000000, 23, 5),
    ("sop2", 0xC0000000, 0x80000000, 23, 7),
    ("vop1", 0xFE000000, 0x7E000000, 9, 8),
    ("vopc", 0xFE000000, 0x7C000000, 17, 8),
    ("vop2", 0x80000000, 0x00000000, 25, 6),
    ("vop3p", 0xFF800000, 0xD3800000, 16, 7),
    ("vop3", 0xFC000000, 0xD0000000, 16, 10),
    ("smem", 0xFC000000, 0xC0000000, 18, 8),
    ("ds", 0xFC000000, 0xD8000000, 17, 8),
    ("flat", 0xFC000000, 0xDC000000, 18, 7),
    ("mubuf", 0xFC000000, 0xE0000000, 18, 7),
    ("mtbuf", 0xFC000000, 0xE8000000, 15, 4),
)
"""Encoding, the bits that tell it, their value, the opcode's place and bits. The first that fits counts."""


_SEGMENTS: Final[tuple[Encoding, ...]] = ("flat", "scratch", "global", "flat")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def _set(word: int, **bits: int) -> frozenset[str]:
    return frozenset(name for name, bit in bits.items() if word >> bit & 1)


def _scalar(count: int, target: bool) -> Callable[..., Instruction]:
    def layout(found: Instruction, low: int, high: int, _third: int, _isa: IsaName) -> Instruction:
        sources = tuple(low >> 8 * number & 0xFF for number in range(count))
        literal = high if LITERAL in sources else 0
        size = 8 if LITERAL in sources else 4
        return replace(
            found, size=size, target=low >> 16 & 0x7F if target else -1, sources=sources, literal=literal
        )

    return layout


def _immediate(found: Instruction, low: int, high: int, _third: int, _isa: IsaName) -> Instruction:
    literal = found.name in _WITH_LITERAL
    target = low >> 16 & 0x7F if found.encoding == "sopk" else -1
    immediate = _signed(low & 0xFFFF, 16)
    size = 8 if literal else 4
    return replace(found, size=size, target=target, immediate=immediate, literal=high if literal else 0)


def _vector(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    """VOP1, VOP2 and VOPC, with the second word that SDWA, DPP or a literal brings."""
    first, second = low & 0x1FF, VECTOR | low >> 9 & 0xFF
    target = low >> 17 & 0xFF
    sources: tuple[int, ...] = (first,) if found.encoding == "vop1" else (first, second)
    if found.encoding == "vopc":
        found = replace(found, scalar_target=VCC)
        target = -1
    elif found.encoding == "vop2" and "_co_" in found.name:
        found = replace(found, scalar_target=VCC)
    if found.name in ("v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32", "v_cndmask_b32"):
        sources = (*sources, VCC)
    if found.name == "v_readfirstlane_b32":
        found = replace(found, scalar_target=target)
        target = -1
    if found.name in _WITH_LITERAL:
        sources = (first, LITERAL, second) if "mk_" in found.name else (first, second, LITERAL)
        return replace(found, size=8, target=target, sources=sources, literal=high)
    if first == SDWA:
        return _sdwa(replace(found, size=8, target=target, literal=high), sources, high, isa)
    if first == DPP:
        return replace(
            found,
            size=8,
            target=target,
            literal=high,
            sources=(VECTOR | high & 0xFF, *sources[1:]),
            dpp=Dpp(high >> 40 - 32 & 0x1FF, high >> 28, high >> 24 & 0xF, bool(high >> 19 & 1)),
            negative=high >> 20 & 1 | high >> 21 & 2,
            absolute=high >> 21 & 1 | high >> 22 & 2,
        )
    size = 8 if first == LITERAL else 4
    return replace(found, size=size, target=target, sources=sources, literal=high if size == 8 else 0)


def _sdwa(found: Instruction, sources: tuple[int, ...], word: int, isa: IsaName) -> Instruction:
    later = isa != "gcn3"
    first = word & 0xFF | (0 if later and word >> 23 & 1 else VECTOR)
    if len(sources) > 1 and later and word >> 31:
        sources = (sources[0], sources[1] & ~VECTOR, *sources[2:])
    changed = replace(
        found,
        sources=(first, *sources[1:]),
        negative=word >> 20 & 1 | word >> 27 & 2,
        absolute=word >> 21 & 1 | word >> 28 & 2,
    )
    parts = Sdwa(
        (word >> 16 & 7, word >> 24 & 7),
        (bool(word >> 19 & 1), bool(word >> 27 & 1)),
        word >> 8 & 7,
        word >> 11 & 3,
    )
    if found.encoding == "vopc":
        if later and word >> 15 & 1:
            changed = replace(changed, scalar_target=word >> 8 & 0x7F)
        return replace(changed, sdwa=replace(parts, target=6, unused=0))
    output = word >> 14 & 3 if later else 0
    return replace(changed, sdwa=parts, clamp=bool(word >> 13 & 1), output=output)


def _vop3(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    count = _count_sources(found.name)
    sources = tuple(high >> 9 * number & 0x1FF for number in range(count))
    if found.name.startswith("v_div_fmas"):
        sources = (*sources, VCC)
    found = replace(found, size=8, target=low & 0xFF, sources=sources, clamp=bool(low >> 15 & 1))
    found = replace(found, negative=high >> 29, output=high >> 27 & 3)
    if found.name.startswith("v_cmp"):
        return replace(found, target=-1, scalar_target=low & 0xFF, absolute=low >> 8 & 7)
    if found.name in ("v_readlane_b32", "v_readfirstlane_b32"):
        return replace(found, target=-1, scalar_target=low & 0xFF)
    if "_co_" in found.name or found.name.startswith(("v_div_scale", "v_mad_u64_u32", "v_mad_i64_i32")):
        return replace(found, scalar_target=low >> 8 & 0x7F)
    select = low >> 11 & 0xF if isa != "gcn3" else 0
    return replace(found, absolute=low >> 8 & 7, select=select)


def _count_sources(name: str) -> int:
    from apuflow.interpret.vector import source_count

    return source_count(name)


def _vop3p(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    matrix = found.name.startswith(("v_mfma", "v_smfmac", "v_accvgpr"))
    packed = found.name.startswith("v_pk_") and not found.name.startswith(("v_pk_fma", "v_pk_mad"))
    count = 1 if found.name.startswith("v_accvgpr") else 2 if packed else 3
    sources = tuple(high >> 9 * number & 0x1FF for number in range(count))
    found = replace(found, size=8, target=low & 0xFF, sources=sources, negative=high >> 29)
    if matrix:
        accumulation = _set(high, a=27, b=28) | _set(low, c=15)
        if isa == "gfx908":  # it has no other C and D
            accumulation |= {"c", "implied"}
        return replace(found, immediate=low >> 8 & 7, select=low >> 11 & 0xF, flags=accumulation)
    return replace(
        found,
        clamp=bool(low >> 15 & 1),
        select=low >> 11 & 7,
        select_high=high >> 27 & 3 | low >> 12 & 4,
        negative_high=low >> 8 & 7,
    )


def _smem(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    flags = _set(low, glc=16, imm=17) | (_set(low, soffset=14) if isa != "gcn3" else frozenset())
    offset = high & 0xFFFFF if isa == "gcn3" else _signed(high & 0x1FFFFF, 21)
    return replace(
        found,
        size=8,
        target=low >> 6 & 0x7F,
        sources=((low & 0x3F) << 1, high >> 25 & 0x7F if "soffset" in flags else high & 0x7F),
        offsets=(offset,),
        flags=flags,
    )


def _ds(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    flags = _set(low, gds=16) | (_set(low, acc=25) if isa in ("gfx90a", "gfx940") else frozenset())
    return replace(
        found,
        size=8,
        target=high >> 24,
        sources=tuple(VECTOR | high >> 8 * number & 0xFF for number in range(3)),
        offsets=(low & 0xFF, low >> 8 & 0xFF),
        flags=flags,
    )


def _flat(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    bits = 12 if found.encoding == "flat" else 13
    offset = 0 if isa == "gcn3" else _signed(low & 0x1FFF, 13) if bits == 13 else low & 0xFFF
    flags = _set(low, glc=16, slc=17, lds=13)
    if isa in ("gfx90a", "gfx940"):
        flags |= _set(high, acc=23)
    saddr = 0x7F if isa == "gcn3" or found.encoding == "flat" else high >> 16 & 0x7F
    sources = (VECTOR | high & 0xFF, VECTOR | high >> 8 & 0xFF, saddr)
    return replace(found, size=8, target=high >> 24, sources=sources, offsets=(offset,), flags=flags)


def _buffer(found: Instruction, low: int, high: int, _third: int, isa: IsaName) -> Instruction:
    flags = _set(low, offen=12, idxen=13, glc=14)
    if found.encoding == "mubuf":
        flags |= _set(low, lds=16, slc=17)
    else:
        flags |= _set(high, slc=22)
        found = replace(found, immediate=low >> 19 & 0x7F)
    if isa in ("gfx90a", "gfx940"):
        flags |= _set(high, acc=23)
    sources = (VECTOR | high & 0xFF, (high >> 16 & 0x1F) << 2, high >> 24)
    return replace(
        found, size=8, target=high >> 8 & 0xFF, sources=sources, offsets=(low & 0xFFF,), flags=flags
    )


_FORMATS: Final[dict[Encoding, Callable[..., Instruction]]] = {
    "sop2": _scalar(2, True),
    "sop1": _scalar(1, True),
    "sopc": _scalar(2, False),
    "sopk": _immediate,
    "sopp": _immediate,
    "vop1": _vector,
    "vop2": _vector,
    "vopc": _vector,
    "vop3": _vop3,
    "vop3p": _vop3p,
    "smem": _smem,
    "ds": _ds,
    "flat": _flat,
    "scratch": _flat,
    "global": _flat,
    "mubuf": _buffer,
    "mtbuf": _buffer,
}


@dataclass
class Program:
    """Machine code, decoded where it is reached.

    Attributes:
        words: of the code section.
        address: of its first byte.
    """

    words: Sequence[int]
    address: int
    isa: IsaName
    _known: dict[int, Instruction] = field(default_factory=dict)

    def at(self, address: int) -> Instruction:
        """The instruction at an address.

        Raises:
            EngineError: there is none.
        """
        if address not in self._known:
            first = address - self.address >> 2
            if not 0 <= first < len(self.words):
                raise EngineError(
                    f"a wavefront runs out of its code, to {address:#x}", remedy="report the kernel"
                )
            code = [*self.words[first : first + 3], 0, 0][:3]
            self._known[address] = decode(code, address, self.isa)
        return self._known[address]
