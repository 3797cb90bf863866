"""Instructions as the compiled executor takes them: rows of ``struct op`` (``native/native.h``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.atomics import operation
from apuflow.interpret.encodings import LITERAL, VECTOR, Instruction
from apuflow.interpret.moves import WIDTHS, Width, width_of
from apuflow.interpret.operands import FLOATS, constant, dpp_lanes, keeps_half
from apuflow.interpret.state import EXEC, LANES
from apuflow.interpret.vector import Meaning, meaning

Row = NDArray[np.void]

SOURCE: Final = np.dtype(
    [(name, "i4" if name not in ("low", "high") else "u4")
     for name in ("kind", "number", "low", "high", "wide", "part", "absolute", "negative")]
)  # fmt: skip
OP: Final = np.dtype(
    [
        *((name, "i4") for name in ("function", "target", "scalar_target")),
        ("source", SOURCE, 4),
        *((name, "i4") for name in ("result", "clamp", "output", "part_target", "part_unused", "mover")),
        *(
            (name, "i4")
            for name in ("bytes", "signs", "half", "returns", "scalar_base", "accumulates", "spread")
        ),
        *((name, "i4") for name in ("offset", "second_offset")),
        *((name, "i4") for name in ("poll", "unchanged", "registers", "accumulated")),
    ]
)
MOVER: Final = np.dtype(
    [
        ("from", "u1", LANES),
        ("there", "u1", LANES),
        ("written", "u1", LANES),
        ("bound", "u1"),
        ("padding", "u1", 63),
    ]
)
_CONSTANT, _SCALAR, _VECTOR = 1, 2, 3
_HALF, _SELECTED, _SIGNED, _PACKED = 1, 16, 8, 32
_WORD, _PAIR, _HALF_OF_TWO, _HIGH_HALF, _PART = 1, 2, 3, 4, 5
_WIDE: Final = "dUI"
_NARROW: Final = "hws"
_DS: Final = re.compile(r"ds_(read|write)(2?)(st64)?_((?:[bui]\d+)(?:_d16(?:_hi)?)?)")


class NotNative(Exception):
    """NumPy executes the instruction."""


class Encoder:
    """Makes rows of instructions.

    Args:
        functions: numbers of the executor's functions, by name.
        isa: of the instructions: what some keep of their target differs.
    """

    def __init__(self, functions: Mapping[str, int], isa: str) -> None:
        self._functions, self._isa = functions, isa
        self.movers: list[Row] = []

    def row(self, found: Instruction) -> Row:
        """The row of an instruction that neither branches nor waits; no function: NumPy executes it."""
        made = np.zeros((), OP)
        made["function"], made["target"], made["scalar_target"] = -1, -1, -1
        try:
            match found.encoding:
                case "vop1" | "vop2" | "vopc" | "vop3":
                    self._vector(made, found)
                case "vop3p":
                    self._packed(made, found)
                case "sop1" | "sop2" | "sopc" | "sopk":
                    self._scalar(made, found)
                case "smem":
                    self._scalar_memory(made, found)
                case "flat" | "global" | "scratch":
                    self._memory(made, found)
                case "ds":
                    self._lds(made, found)
            _bound(made, found)
        except NotNative:
            made["function"] = -1
        return made

    def _is(self, made: Row, name: str) -> None:
        if name not in self._functions:
            raise NotNative
        made["function"] = self._functions[name]

    def _vector(self, made: Row, found: Instruction) -> None:
        if found.name in ("v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32"):
            self._is(made, found.name)
            made["target"], made["scalar_target"] = found.target, found.scalar_target
            for number, code in enumerate(found.sources[:2]):
                _operand(made["source"][number], code, "u", found.literal)
            reads = found.sources[0] >= VECTOR
            if reads == (found.name == "v_writelane_b32") or (found.name == "v_readlane_b32" and not reads):
                raise NotNative
            return
        known = meaning(found.name)
        compare = found.name.startswith("v_cmp")
        self._is(made, found.name.replace("v_cmpx", "v_cmp"))
        assert known is not None
        if known.results[0] == "h" or "h" in known.sources:
            raise NotNative
        self._sources(made, found, known)
        made["scalar_target"] = found.scalar_target
        made["returns"] = found.name.startswith("v_cmpx")
        if not compare:
            made["target"] = found.target
            self._result(made, found, known.results[0])

    def _sources(self, made: Row, found: Instruction, known: Meaning) -> None:
        place = 0
        for number, letter in enumerate(known.sources):
            if letter == "m":
                _operand(made["source"][3], found.sources[number], "U", 0)
                continue
            goal = made["source"][place]
            place += 1
            if known.accumulates and number == len(known.sources) - 1:
                _operand(goal, VECTOR + found.target, letter, 0)
            else:
                self._source(made, goal, found, number, letter)

    def _source(self, made: Row, goal: Row, found: Instruction, number: int, letter: str) -> None:
        code = found.sources[number]
        sdwa = found.sdwa if number < 2 else None
        absolute, negative = found.absolute >> number & 1, found.negative >> number & 1
        if letter not in FLOATS:
            absolute = negative = 0
        fixed = constant(code, letter, found.literal)
        _operand(goal, code, "u" if letter in _NARROW else letter, found.literal)
        if fixed is not None:
            if sdwa is not None:
                raise NotNative
            value = -np.abs(fixed) if absolute and negative else np.abs(fixed) if absolute else fixed
            _constant(goal, -value if negative and not absolute else value)
            return
        goal["absolute"], goal["negative"] = absolute, negative
        if sdwa is not None:
            goal["part"] = _SELECTED + sdwa.selects[number] + (_SIGNED if sdwa.signed[number] else 0)
            if letter in _WIDE or (letter in _NARROW and sdwa.selects[number] == 6):
                raise NotNative
        elif found.dpp is not None and number == 0:
            if letter in _NARROW:
                raise NotNative
            self.movers.append(_mover(found))
            made["mover"] = len(self.movers)
        elif letter in _NARROW:
            goal["part"] = _HALF + (found.select >> number & 1)

    def _result(self, made: Row, found: Instruction, letter: str) -> None:
        if letter in _WIDE:
            made["result"] = _PAIR
        elif letter in _NARROW:
            keeps = keeps_half(found, self._isa)
            half = found.select >> 3 & 1
            made["result"] = _HIGH_HALF if half else _HALF_OF_TWO if keeps else _WORD
        else:
            made["result"] = _WORD
        if found.clamp or found.output:
            if letter not in "fd":
                raise NotNative
            kind = 1 if letter == "f" else 2
            made["clamp"], made["output"] = kind * found.clamp, kind << 2 | found.output
        if found.sdwa is not None and found.sdwa.target != 6:
            if letter in _WIDE:
                raise NotNative
            made["result"] = _PART
            made["part_target"], made["part_unused"] = found.sdwa.target, found.sdwa.unused

    def _packed(self, made: Row, found: Instruction) -> None:
        """Two operations of 32 bits; V_PK_MOV_B32 takes a register of each source."""
        self._is(made, found.name)
        moves = found.name == "v_pk_mov_b32"
        for number, code in enumerate(found.sources[: 3 if "fma" in found.name else 2]):
            low, high = found.select >> number & 1, found.select_high >> number & 1
            signs = found.negative >> number & 1 | (found.negative_high >> number & 1) << 1
            if moves:
                low, high, signs = low, low, signs & 1 if number == 0 else 0
            goal = made["source"][number]
            _operand(goal, code, "f", found.literal)
            goal["wide"], goal["part"], goal["negative"] = 1, _PACKED + low + 2 * high, signs
            if goal["kind"] == _CONSTANT:
                goal["high"] = goal["low"] ^ (signs >> 1) << 31
                goal["low"] ^= (signs & 1) << 31
        made["target"], made["result"] = found.target, _PAIR
        made["clamp"] = 3 * found.clamp

    def _scalar(self, made: Row, found: Instruction) -> None:
        name, compared = found.name.replace("s_cmpk_", "s_cmp_"), found.name.startswith("s_cmpk_")
        self._is(made, name)
        wide = bool(re.search(r"[biu]64$", name)) and not name.startswith(("s_bcnt", "s_ff", "s_flbit"))
        wide_sources = "64" in name
        if found.encoding == "sopk":
            unsigned = compared and name.endswith("u32")
            _constant(made["source"][1], np.uint32(found.immediate & (0xFFFF if unsigned else 0xFFFFFFFF)))
            if compared:
                _operand(made["source"][0], found.target, "u", 0)
            else:
                made["target"] = found.target
            return
        if name == "s_getpc_b64":
            _constant(made["source"][0], np.uint64(found.address + found.size))
        for number, code in enumerate(() if name == "s_getpc_b64" else found.sources):
            second = number == 1 and re.match(r"s_(lsh|ash|bfe|bitcmp)", name)
            narrow = second or name.startswith(("s_bfm", "s_bitset"))
            signed = "I" if "i64" in name else "U"
            _operand(
                made["source"][number], code, signed if wide_sources and not narrow else "u", found.literal
            )
        made["target"] = found.target
        made["result"] = _PAIR if wide else _WORD
        made["returns"] = "saveexec" in name

    def _scalar_memory(self, made: Row, found: Instruction) -> None:
        form = re.fullmatch(r"s_load_(\w+)", found.name)
        size = WIDTHS.get(form[1]) if form else None
        if size is None:
            raise NotNative
        self._is(made, "scalar load")
        _operand(made["source"][0], found.sources[0], "U", 0)
        if "soffset" in found.flags or "imm" not in found.flags:
            _operand(made["source"][1], found.sources[1], "u", 0)
        made["offset"] = found.offsets[0] & ~3 if "imm" in found.flags else 0
        made["target"], made["bytes"] = found.target, size
        made["scalar_base"] = found.target + size // 4 > EXEC

    def _memory(self, made: Row, found: Instruction) -> None:
        kind, _, rest = found.name.partition("_")[2].partition("_")
        saddr = found.sources[2]
        _operand(made["source"][0], found.sources[0], "U" if found.encoding != "scratch" else "u", 0)
        if saddr != 0x7F and found.encoding != "flat":
            _operand(made["source"][2], saddr, "u" if found.encoding == "scratch" else "U", 0)
        made["offset"] = found.offsets[0]
        made["spread"] = 4 * LANES if found.encoding == "scratch" else 4
        made["target"] = found.target
        if kind == "atomic":
            if found.encoding == "scratch" or "acc" in found.flags:
                raise NotNative
            self._atomic(made, "memory", rest, lds=False)
            made["returns"] = "glc" in found.flags
            _operand(made["source"][1], found.sources[1], "u", 0)
            return
        width = width_of(rest)
        if width is None or kind not in ("load", "store"):
            raise NotNative
        self._is(made, f"memory {kind}")
        self._moved(made, width)
        made["accumulates"] = "acc" in found.flags
        _operand(made["source"][1], found.sources[1], "u", 0)

    def _moved(self, made: Row, width: Width) -> None:
        made["bytes"], made["signs"] = width.size, width.signed
        made["half"] = 0 if width.half is None else 1 + width.half

    def _atomic(self, made: Row, where: str, word: str, *, lds: bool) -> None:
        known = operation(word, lds=lds)
        if known is None:
            raise NotNative
        kind = np.dtype(known.kind)
        base = re.sub(r"_x2$|_(?:rtn_)?[biuf]\d+$|_f\d+$", "", word)
        letter = word[-3] if word[-2:] in ("32", "64") else ""
        base = {"swap": "swap", "wrxchg": "swap"}.get(base, base)
        if base in ("min", "max"):
            base = ("u" if letter == "u" else "s") + base
        if kind.kind == "f":
            if base != "add":
                raise NotNative
            base = f"add_f{8 * kind.itemsize}"
        if base in ("smin", "smax"):
            base += str(8 * kind.itemsize)
        self._is(made, f"{where} {base}")
        made["bytes"] = known.size

    def _lds(self, made: Row, found: Instruction) -> None:
        if "gds" in found.flags:
            raise NotNative
        for number, code in enumerate(found.sources):
            _operand(made["source"][number], code, "u", 0)
        made["target"], made["spread"] = found.target, 4
        made["offset"] = found.offsets[0] | found.offsets[1] << 8
        made["accumulates"] = "acc" in found.flags
        if found.name in ("ds_bpermute_b32", "ds_permute_b32"):
            self._is(made, found.name)
            return
        if form := _DS.fullmatch(found.name):
            width = width_of(form[4])
            if width is None:
                raise NotNative
            self._is(made, f"lds {form[1]}{form[2]}")
            self._moved(made, width)
            if form[2]:
                scale = width.size * (64 if form[3] else 1)
                made["offset"], made["second_offset"] = (each * scale for each in found.offsets)
            return
        word = found.name.removeprefix("ds_")
        if "xchg2" in word or "src2" in word or "acc" in found.flags:
            raise NotNative
        self._atomic(made, "lds", word.replace("_rtn", ""), lds=True)
        made["returns"] = "_rtn" in word or word.startswith("wrxchg")


def _bound(made: Row, found: Instruction) -> None:
    """Note how many vector registers it may touch; raise NotNative for scalar ones that there are not."""
    words = max(2, int(made["bytes"]) // 4 * 2)
    scalar_encoding = found.encoding.startswith("s") and found.encoding != "scratch"
    if scalar_encoding:
        last = made["target"] + (made["bytes"] // 4 or (2 if made["result"] == _PAIR else 1)) - 1
        if last > EXEC + 1:
            raise NotNative
    elif made["target"] >= 0:
        made["registers"] = made["target"] + words
    if made["scalar_target"] == EXEC + 1 and not found.name.startswith("v_read"):
        raise NotNative
    for number, each in enumerate(made["source"]):
        if each["kind"] == _SCALAR and each["number"] + bool(each["wide"]) > EXEC + 1:
            raise NotNative
        if each["kind"] == _VECTOR:
            if scalar_encoding or number == 3:
                raise NotNative
            made["registers"] = max(made["registers"], each["number"] + (2 if number == 0 else words))
    if made["accumulates"]:
        made["accumulated"] = made["registers"]


def _operand(goal: Row, code: int, letter: str, literal: int) -> None:
    """Fill a source: a constant, a scalar register or a vector register."""
    goal["wide"] = letter in _WIDE
    if code >= VECTOR:
        goal["kind"], goal["number"] = _VECTOR, code - VECTOR
        return
    fixed = constant(code, letter, literal)
    if fixed is not None:
        _constant(goal, fixed)
        return
    if code > EXEC + 1 or code == LITERAL:
        raise NotNative
    goal["kind"], goal["number"] = _SCALAR, code


def _constant(goal: Row, value: Any) -> None:
    raw = int.from_bytes(np.asarray(value).tobytes(), "little")
    goal["kind"], goal["low"], goal["high"] = _CONSTANT, raw & 0xFFFFFFFF, raw >> 32


def _mover(found: Instruction) -> Row:
    assert found.dpp is not None
    lanes, valid = dpp_lanes(found.dpp.control)
    lane = np.arange(LANES)
    made = np.zeros((), MOVER)
    made["from"], made["there"], made["bound"] = lanes, valid, found.dpp.bound
    made["written"] = found.dpp.rows >> (lane >> 4) & 1 & found.dpp.banks >> (lane >> 2 & 3)
    return made
