"""Ways to write a vector instruction: kinds of operands, modifiers, SDWA, DPP, and the words of each.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 6.2 to 6.4; LLVM's "Syntax of AMDGPU
Instruction Modifiers".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from apuflow.conformance.vector_rules import BITS, EXACT, number
from apuflow.conformance.vector_values import Part
from apuflow.interpret.opcodes import Encoding

INTEGERS: Final = (64, -16, 0, 1, -1)
FLOATS: Final = ("0.5", "-4.0", "0.15915494")
"""Values of inline constants that are tried in turn; the last is 1/(2*pi)."""
_TURN: Final = "0.15915494309189532"
_LITERALS: Final = {16: 0x4248, 32: 0x40480000, 64: 0x40080000}
SPECIAL: Final = ("vcc", "m0", "exec")
EXECUTION: Final[Mapping[str, tuple[int, int]]] = {
    "some_lanes": (0x55555555, 0x33333333),
    "one_lane": (0, 1 << 5),
    "no_lane": (0, 0),
}
"""Words of EXEC, low and high."""
EXEC_SOURCE: Final = (0x40490FDB, 0x400921FB)
"""EXEC where it is a source: pi as fp32, and as fp64."""
DPP: Final[Mapping[str, str]] = {
    "quad_perm": "quad_perm:[1,3,0,2]",
    "row_shl": "row_shl:3",
    "row_shr": "row_shr:1",
    "row_ror": "row_ror:5",
    "wave_shl": "wave_shl:1",
    "wave_rol": "wave_rol:1",
    "wave_shr": "wave_shr:1",
    "wave_ror": "wave_ror:1",
    "row_mirror": "row_mirror",
    "row_half_mirror": "row_half_mirror",
    "row_bcast15": "row_bcast:15",
    "row_bcast31": "row_bcast:31",
}
_MASKS: Final = {"row_mask": "0xa", "bank_mask": "0x5"}
SELECTS: Final = ("BYTE_0", "WORD_1", "BYTE_1", "WORD_0", "BYTE_2", "BYTE_3")
COMMON: Final = frozenset(
    f"v_{name}"
    for name in (
        *("mov_b32", "add_f32", "mac_f32", "mul_f32", "max_f32", "min_f32", "and_b32", "or_b32", "add_u32"),
        *("add_co_u32", "lshlrev_b32", "mul_u32_u24", "add_f16", "cvt_f32_f16", "lshlrev_b16"),
    )
)
"""Instructions that are tried with every control of DPP and select of SDWA; others with some in turn."""


class Operation(NamedTuple):
    """An instruction of the table.

    Attributes:
        name: as the disassembler calls it; ``assembled``: as the assembler does, with suffix.
        letters: of its sources, as in ``interpret.vector``; ``results``: a letter each.
        accumulates: the last source is the target.
        turn: a number of its own, for what is tried in turn.
    """

    encoding: Encoding
    name: str
    assembled: str
    letters: str
    results: str
    accumulates: bool
    turn: int

    @property
    def sources(self) -> str:
        """Letters of the sources that are written down as vector or scalar operands."""
        return self.letters[: len(self.letters) - self.accumulates]

    @property
    def compares(self) -> bool:
        """Its result is a mask alone."""
        return self.results == "m"


class Variant(NamedTuple):
    """One way to write an operation.

    Attributes:
        words: features, without those of ``kinds``.
        kinds: sources that are no vector registers: ``scalar``, ``constant``, ``zero``, ``float``,
            ``literal``, ``vcc``, ``m0``, ``exec``, with the text of a constant.
        signs: ``abs``, ``neg``, ``both`` or ``sext`` of sources.
        parts: of SDWA sources.
        tail: text behind the operands.
        range: words for the values (``vector_values.values``).
        execution: a name in ``EXECUTION``.
        scalar_result: of SDWA compares, another target than VCC.
    """

    words: tuple[str, ...] = ()
    kinds: Mapping[int, tuple[str, str]] = {}
    signs: Mapping[int, str] = {}
    parts: Mapping[int, Part] = {}
    tail: str = ""
    range: frozenset[str] = frozenset()
    execution: str = ""
    scalar_result: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Words of the form."""
        every = {*self.words, *(f"{kind}{place}" for place, (kind, _) in self.kinds.items())}
        for place, sign in self.signs.items():
            every |= {f"{each}{place}" for each in (("abs", "neg") if sign == "both" else (sign,))}
        return tuple(sorted(every | ({self.execution} - {""})))


def fixed_bits(letter: str, kind: str, text: str) -> int:
    """Bits of a constant operand."""
    bits = BITS[letter]
    if kind in ("constant", "zero"):
        return int(text) & (1 << bits) - 1
    if kind == "float":
        return number(letter, float(text)) if "." in text else 0
    value = int(text, 16)
    return value << 32 if letter == "d" else value


def variants(operation: Operation, isa: str, *, alone: bool) -> Iterator[Variant]:
    """Ways to write an operation that LLVM may accept.

    Args:
        alone: it has no shorter encoding.
    """
    if found := re.match("v_mad([ma])k_", operation.name):
        place = 1 if found[1] == "m" else 2
        literal = ("literal", hex(_LITERALS[BITS[operation.letters[place]]]))
        for each in (*_plain(operation, alone=alone), *_kinds(operation)):
            yield each._replace(kinds={**each.kinds, place: literal})
        return
    large = Variant(words=("large",), range=frozenset({"large", "any"}))
    if operation.name.startswith("v_div_scale"):
        yield from (Variant(), large)
        yield from (Variant(execution=each) for each in EXECUTION)
        return
    if operation.name.startswith("v_div_"):
        yield large
    yield from _plain(operation, alone=alone)
    yield from _kinds(operation)
    if operation.encoding == "vop3":
        yield from _modifiers(operation)
        if isa != "gcn3":
            yield from _halves(operation)
        return
    if any(BITS[each] > 32 for each in operation.letters + operation.results if each != "m"):
        return
    yield from _sdwa(operation, isa)
    if not operation.compares:
        yield from _dpp(operation)


def _signed(operation: Operation) -> frozenset[str]:
    return frozenset({"signed"} if len(operation.letters) == 1 else ())


def _plain(operation: Operation, *, alone: bool) -> Iterator[Variant]:
    yield Variant()
    executions = tuple(EXECUTION)
    if operation.encoding == "vop3" and not alone:
        executions = executions[:1]
    elif operation.compares:
        executions = (executions[operation.turn % 3],)
    for each in executions:
        yield Variant(execution=each)
    for word in ("subnormal", "negative", "large") if len(operation.letters) == 1 else ("subnormal",):
        yield Variant(words=(word,), range=frozenset({word}))


def _kinds(operation: Operation) -> Iterator[Variant]:
    turn, letters = operation.turn, operation.sources
    for place, letter in enumerate(letters):
        if letter == "m":
            if operation.encoding == "vop3" and not operation.name.startswith("v_div_fmas"):
                yield Variant(kinds={place: ("vcc", "")})
            continue
        if letter == "Q" or (operation.encoding != "vop3" and place):
            continue
        bits = BITS[letter]
        exact = bool(EXACT.fullmatch(operation.name))
        special = SPECIAL[(turn + place) % (2 if exact else 3)]
        kinds = [("scalar", ""), ("constant", str(INTEGERS[(turn + place) % 5])), (special, "")]
        if not operation.compares and operation.encoding != "vop3":
            kinds.append(("constant", str(INTEGERS[(turn + 2) % 5])))
        if letter not in "ws":
            some = FLOATS[:2] if exact else FLOATS[::2] if len(operation.letters) == 1 else FLOATS
            text = some[(turn + place) % len(some)]
            kinds.append(("float", _TURN if bits == 64 and text == FLOATS[2] else text))
        if operation.encoding != "vop3":
            kinds.append(
                (
                    "literal",
                    hex(_LITERALS.get(bits, 0) if letter in "fdhws" else 0x12345678 >> (32 - min(bits, 32))),
                )
            )
        if letter in "hfd":
            kinds = [(kind, text if text != "0" else "1") for kind, text in kinds] + [("zero", "0")]
        for kind in kinds:
            signed = kind[0] in ("constant", "zero")
            yield Variant(kinds={place: kind}, range=_signed(operation) if signed else frozenset())


def _modifiers(operation: Operation) -> Iterator[Variant]:
    """|x|, -x, clamp and multiples of VOP3."""
    signed = _signed(operation)
    floats = [place for place, letter in enumerate(operation.sources) if letter in "hfd"]
    if re.match("v_cvt_pk(accum)?_u8", operation.name):  # of what is below 0 the manual does not tell
        floats = []
    for place in floats:
        yield Variant(signs={place: "abs"}, range=signed)
        yield Variant(signs={place: "neg"}, range=frozenset({"negative"} if signed else ()))
    if floats:
        yield Variant(signs={floats[operation.turn % len(floats)]: "both"}, range=signed)
    yield from _outputs(operation)


_SATURATES: Final = re.compile(r"v_(addc?|subb?|subb?rev|mad|m?sad|mul_lo_u16)(_|$)")
"""Instructions on whole numbers for which CLAMP has a meaning."""


def _outputs(operation: Operation, prefix: tuple[str, ...] = ()) -> Iterator[Variant]:
    """Changed results; of values that give no zero, whose sign the manual leaves open."""
    if operation.compares:
        return
    if operation.results[0] not in "hfd":
        if _SATURATES.match(operation.name):
            yield Variant((*prefix, "clamp"), tail=" clamp")
        return
    near = frozenset({"positive" if len(operation.letters) == 1 else "moderate"})
    multiples: tuple[tuple[str, str], ...] = (("mul2", " mul:2"), ("mul4", " mul:4"), ("div2", " div:2"))
    if prefix:
        multiples = (multiples[operation.turn % 3],)
    yield Variant((*prefix, "clamp"), tail=" clamp", range=near)
    for word, text in multiples:
        yield Variant((*prefix, word), tail=text, range=near)
    if not prefix:
        yield Variant(("clamp", "mul2"), tail=" clamp mul:2", range=near)


def _halves(operation: Operation) -> Iterator[Variant]:
    """OP_SEL: upper halves of 16-bit operands."""
    if not {"h", "w", "s"} & {*operation.letters, *operation.results}:
        return
    count = len(operation.sources)
    for chosen in ([0], [count], [*range(count + 1)]):
        bits = ",".join(str(int(place in chosen)) for place in range(count + 1))
        parts = {
            place: Part("WORD_1")
            for place in chosen
            if place < count and BITS[operation.sources[place]] == 16
        }
        yield Variant(("select_low",), parts=parts, tail=f" op_sel:[{bits}]")


def _rotated(every: Sequence[str], first: int, count: int) -> list[str]:
    return [every[(first + number) % len(every)] for number in range(count)]


def _sdwa(operation: Operation, isa: str) -> Iterator[Variant]:
    letters = "".join(letter for letter in operation.sources if letter != "m")
    count, turn = len(letters), operation.turn
    signed = {"abs": _signed(operation), "neg": frozenset({"negative"} if count == 1 else ())}
    full = operation.name in COMMON

    def variant(
        words: tuple[str, ...] = (),
        parts: Mapping[int, Part] | None = None,
        signs: Mapping[int, str] | None = None,
        target: str = "DWORD",
        unused: str = "PAD",
        before: str = "",
        kinds: Mapping[int, tuple[str, str]] | None = None,
        range_: frozenset[str] = frozenset(),
        scalar_result: bool = False,
    ) -> Variant:
        every = {place: Part() for place in range(count)} | dict(parts or {})
        selects = "".join(f" src{place}_sel:{part.select}" for place, part in every.items())
        goal = "" if operation.compares else f" dst_sel:{target} dst_unused:UNUSED_{unused}"
        if any(part.bits < 32 and letters[place] == "f" for place, part in every.items()):
            range_ |= {"any"}
        named = {f"select{place}:{part.select}" for place, part in every.items() if part.select != "DWORD"}
        return Variant(
            tuple(sorted({"sdwa", *words, *named})),
            kinds or {},
            signs or {},
            every,
            before + goal + selects,
            range_,
            scalar_result=scalar_result,
        )

    yield variant()
    if operation.compares and turn % 4 == 0:
        yield variant(scalar_result=True)
    for place, letter in enumerate(letters):
        taken = 6 if full else 2
        for select in _rotated(SELECTS, turn + place, taken):
            yield variant(parts={place: Part(select)})
        if letter not in "hf":
            select = SELECTS[(turn + place) % 2]
            yield variant((f"sext{place}",), {place: Part(select, signed=True)}, {place: "sext"})
        elif operation.name != "v_cndmask_b32":  # LLVM does not encode them
            signs = _rotated(("abs", "neg"), turn + place, 1 if operation.compares else 2)
            yield from (variant(signs={place: sign}, range_=signed[sign]) for sign in signs)
        if isa != "gcn3":
            yield variant(kinds={place: ("scalar", "")})
    if operation.compares:
        return
    yield from (
        variant(each.words, before=each.tail, range_=each.range) for each in _outputs(operation, ("sdwa",))
    )
    exact = operation.results[0] not in "hf"
    selects = SELECTS if exact else tuple(each for each in SELECTS if each[0] == "W")
    for target in _rotated(selects, turn, len(selects) if full else min(3, len(selects))):
        yield variant((f"target:{target}",), target=target)
    for word in ("PRESERVE", "SEXT"):
        target = selects[(turn + (word == "SEXT")) % len(selects)]
        yield variant((f"target:{target}", f"unused:{word.lower()}"), target=target, unused=word)


def _dpp(operation: Operation) -> Iterator[Variant]:
    near = frozenset(
        {"positive" if "legacy" in operation.name or len(operation.letters) == 1 else "moderate"}
    )
    others = [each for each in DPP if each not in ("quad_perm", "row_shr")]
    if operation.name not in COMMON:
        others = _rotated(others, 2 * operation.turn, 2)

    def variant(control: str, *words: str, **more: object) -> Variant:
        masks = "".join(f" {each}:{value if each in words else '0xf'}" for each, value in _MASKS.items())
        bound = " bound_ctrl:0" if "bound_ctrl" in words else ""
        tail = f" {DPP[control]}{masks}{bound}"
        return Variant(tuple(sorted(("dpp", control, *words))), tail=tail, range=near, **more)  # type: ignore[arg-type]

    for control in ("quad_perm", "row_shr", *others):
        yield variant(control)
    yield variant("row_shr", "bound_ctrl")
    yield variant("row_shr", "bank_mask")
    yield variant("row_bcast15", "row_mask")
    yield variant(("row_bcast31", "row_ror", "wave_shr")[operation.turn % 3], "bound_ctrl", "row_mask")
    yield variant("row_shr", execution="some_lanes")
    for place, letter in enumerate(operation.sources):
        if letter in "hf":
            yield variant("quad_perm", signs={place: ("abs", "neg")[(operation.turn + place) % 2]})
