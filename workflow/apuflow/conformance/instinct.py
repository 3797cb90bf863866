"""Trials of what gfx90a and gfx942 add outside of VOP3P, as compilers use it.

Source: AMD's manuals "Instinct MI200" and "MI300 Instruction Set Architecture".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from apuflow.conformance.case import LANES, ROUNDS, Case, Words
from apuflow.conformance.inputs import LANE, ROUND, SOME_LANES, generator, random_words, registers
from apuflow.conformance.packed import FLOATS, TARGET, pairs, singles, sources, words_of
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding


class Operation(NamedTuple):
    """An instruction of the vector units: letters of sources and of the result, as in ``interpret.vector``.

    Attributes:
        accumulates: it reads its target.
        shift: the second source is a number of bits, by which LLVM demands a small constant.
    """

    encoding: Encoding
    name: str
    letters: str
    result: str
    processor: str
    accumulates: bool = False
    shift: bool = False


_OPERATIONS: Final = (
    Operation("vop3", "v_lshl_add_u64", "UuU", "U", "gfx942", shift=True),
    Operation("vop1", "v_mov_b64", "U", "U", "gfx942"),
    Operation("vop2", "v_fmac_f64", "dd", "d", "gfx90a", accumulates=True),
    Operation("vop3", "v_fmac_f64", "dd", "d", "gfx90a", accumulates=True),
    *(Operation("vop3", f"v_{name}_f64", "dd", "d", "gfx90a") for name in ("add", "mul", "min", "max")),
    Operation("vop3", "v_fma_f64", "ddd", "d", "gfx90a"),
    Operation("vop2", "v_pk_fmac_f16", "hh", "h", "gfx90a", accumulates=True),
    Operation("vop2", "v_fmac_f32", "ff", "f", "gfx90a", accumulates=True),
    *(
        Operation("vop2", f"v_dot{name}", "ww", "u", "gfx90a", True)
        for name in ("2c_i32_i16", "4c_i32_i8", "8c_i32_i4")
    ),
    *(Operation("vop1", f"v_cvt_f32_{kind}", "b", "f", "gfx942") for kind in ("fp8", "bf8")),
    *(Operation("vop1", f"v_cvt_pk_f32_{kind}", "b", "F", "gfx942") for kind in ("fp8", "bf8")),
    *(Operation("vop3", f"v_cvt_pk_{kind}_f32", "ee", "u", "gfx942", True) for kind in ("fp8", "bf8")),
)
_BARE: Final = (
    *("v_lshl", "v_add", "v_mul", "v_min", "v_max", "v_fma_", "v_dot", "v_pk_fmac", "v_cvt_pk_fp8"),
    "v_cvt_pk_bf8",
)
"""How the names of instructions begin that LLVM has without suffix."""
_WAIT: Final = "s_waitcnt vmcnt(0)"


def cases() -> Iterator[Case]:
    """Every form of these instructions."""
    for operation in _OPERATIONS:
        yield from _vector(operation)
    yield from _atomics()
    for text in ("buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1", "buffer_inv sc0 sc1", "buffer_inv sc1"):
        yield Case(Form("mubuf", text.split()[0]), text, "gfx942", results=("exec",), after=(_WAIT,))


def _vector(operation: Operation) -> Iterator[Case]:
    letters = operation.letters
    ways: list[tuple[tuple[str, ...], Mapping[int, str], str]] = [((), {}, ""), (("some_lanes",), {}, "")]
    shifts = ("0", "1", "2", "3", "4") if operation.shift else ("",)
    if letters[0] in "Ud" and operation.encoding == "vop3":
        ways.append((("scalar0",), {0: "scalar"}, ""))
    if letters[0] in "Udf" and operation.encoding != "vop3":
        ways.append((("scalar0",), {0: "scalar"}, ""))
    if letters[0] == "f" and operation.encoding == "vop2":
        ways.append((("literal0",), {0: "0x40480000"}, ""))
    if operation.shift:
        ways.append((("scalar2",), {2: "scalar"}, ""))
    if letters[0] in "dh":
        ways.append((("float0",), {0: "1.0"}, ""))
        ways += [((word,), {}, tail) for word, tail in _signs(operation)]
    if letters[0] == "U" and not operation.shift:
        ways.append((("constant0",), {0: "-3"}, ""))
    if letters[0] == "e":
        ways.append((("select_low",), {}, "op_sel:[0,0,1]"))
        ways.append((("neg0",), {}, "neg"))
    for words, kinds, tail in ways:
        for number, shift in enumerate(shifts):
            chosen = {**kinds, **({1: shift} if shift else {})}
            constants = {"constant1"} if shift else set()
            yield _case(operation, tuple(sorted({*words} | constants)), chosen, tail, number)


def _signs(operation: Operation) -> Iterator[tuple[str, str]]:
    if operation.encoding == "vop3" and operation.letters[0] == "d":
        yield from (("neg0", "neg"), ("abs0", "abs"), ("clamp", "clamp"))


def _case(
    operation: Operation, words: tuple[str, ...], kinds: Mapping[int, str], tail: str, number: int
) -> Case:
    random = generator(*operation[:2], *words, number)
    texts, vectors, scalars = sources(
        operation.letters, kinds, lambda letter, shape: _values(letter, shape, random)
    )
    signed = {"neg": f"-{texts[0]}", "abs": f"|{texts[0]}|"}
    texts[0] = signed.get(tail, texts[0])
    count = words_of(operation.result)
    if operation.accumulates:
        vectors[TARGET] = _values(operation.result, (ROUNDS, count, LANES), random)
    result = registers(int(TARGET[1:]), count, "v")
    suffix = {"vop3": "_e64", "vop2": "_e32", "vop1": "_e32"}[operation.encoding]
    name = operation.name + ("" if operation.name.startswith(_BARE) else suffix)
    form = Form(operation.encoding, operation.name, words)
    text = f"{name} {result}, {', '.join(texts)} {'' if tail in signed else tail}".rstrip()
    before = (SOME_LANES,) if "some_lanes" in words else ()
    floats = FLOATS.get(operation.result, 0)
    return Case(form, text, operation.processor, vectors, scalars, (result,), before, floats=floats)


def _values(letter: str, shape: tuple[int, ...], random: np.random.Generator) -> Words:
    if letter in "fF":
        return singles(shape, "plain", random).view(np.uint32)
    if letter == "e":  # what FP8 and BF8 hold, and halves between two of their numbers
        return np.asarray(
            random.choice([0.0, 1.0, -1.0, 1.0625, 1.1875, 0.3, 17.0, 200.0], shape), np.float32
        ).view(np.uint32)
    if letter == "d":
        narrow = singles((*shape[:1], 1, *shape[2:]), "plain", random).astype(np.float64)
        wide = np.ascontiguousarray(narrow * (1 + 2.0**-40)).view(np.uint32).reshape(*narrow.shape, 2)
        return np.ascontiguousarray(np.moveaxis(wide[:, 0], -1, 1))
    if letter == "h":
        return pairs(shape, "plain", random)
    words = random_words(random, *shape)
    if letter == "b":  # no NaN, whose bits the manual does not give
        words = np.where(
            (words.view(np.uint8) == 0x80).reshape(*shape, 4).any(-1), np.uint32(0x40414243), words
        )
    return words


class _Atomic(NamedTuple):
    """An atomic operation: words and type (``f``, ``d``, ``h``) of its operand, and what makes it return."""

    name: str
    words: int
    letter: str
    processor: str
    returns: str = ""


_ATOMICS: Final = (
    _Atomic("global_atomic_add_f32", 1, "f", "gfx908"),
    _Atomic("global_atomic_pk_add_f16", 1, "h", "gfx908"),
    *(_Atomic(f"global_atomic_{name}_f64", 2, "d", "gfx90a", "glc") for name in ("add", "min", "max")),
    _Atomic("global_atomic_add_f32", 1, "f", "gfx90a", "glc"),
    _Atomic("global_atomic_pk_add_f16", 1, "h", "gfx90a", "glc"),
    *(_Atomic(f"flat_atomic_{name}_f64", 2, "d", "gfx90a", "glc") for name in ("add", "min", "max")),
    _Atomic("flat_atomic_add_f32", 1, "f", "gfx942", "sc0"),
    _Atomic("flat_atomic_pk_add_f16", 1, "h", "gfx942", "sc0"),
)  # fmt: skip


_ADDRESS: Final = (
    *("v_mov_b32 v13, s9", "v_add_co_u32 v12, vcc, s8, v10", "v_addc_co_u32 v13, vcc, 0, v13, vcc"),
)
"""v[12:13] = s[8:9] + v10."""


def _atomics() -> Iterator[Case]:
    """Each lane has an address of its own, and stores a number there before."""
    for name, words, letter, processor, returns in _ATOMICS:
        encoding: Encoding = "flat" if name.startswith("flat") else "global"
        random = generator(name, processor)
        step = np.arange(ROUNDS * LANES, dtype=np.uint32).reshape(ROUNDS, 1, LANES) * np.uint32(4 * words)
        vectors = {
            "v10": step,
            "v2": _values(letter, (ROUNDS, words, LANES), random),
            "v6": _values(letter, (ROUNDS, words, LANES), random),
        }
        store = f"global_store_dword{'x2' if words == 2 else ''} v10, {registers(6, words, 'v')}, s[8:9]"
        before = (*_ADDRESS, store, _WAIT, "s_mov_b64 vcc, 0")
        data, target = registers(2, words, "v"), registers(int(TARGET[1:]), words, "v")
        where = "v[12:13]" if encoding == "flat" else "v10"
        base = "" if encoding == "flat" else ", s[8:9]"
        for flag in ("", returns) if returns else ("",):
            form = Form(encoding, name, (*(("glc",) if flag else ()), *(("saddr",) if base else ())))
            operands = f"{target}, {where}, {data}{base} {flag}" if flag else f"{where}, {data}{base}"
            text, results = f"{name} {operands}", (target,) if flag else ()
            yield Case(form, text, processor, vectors, {}, results, before, (_WAIT,), memory=True)
    yield from _lds()


def _lds() -> Iterator[Case]:
    random = generator("ds_add_f64")
    for name, rtn in (("ds_add_f64", False), ("ds_add_rtn_f64", True)):
        vectors = {
            "v10": (8 * LANE + 0 * ROUND).astype(np.uint32)[:, None],
            "v2": _values("d", (ROUNDS, 2, LANES), random),
            "v6": _values("d", (ROUNDS, 2, LANES), random),
        }
        text, results = f"{name} {'v[20:21], ' if rtn else ''}v10, v[2:3]", ("v[20:21]",) if rtn else ()
        wait = "s_waitcnt lgkmcnt(0)"
        before = ("s_mov_b32 m0, -1", "ds_write_b64 v10, v[6:7]", wait)
        yield Case(Form("ds", name), text, "gfx90a", vectors, {}, results, before, (wait,), lds=True)
