"""Trials of vector instructions that move between lanes and registers, and of those that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from apuflow.conformance.case import ROUNDS, Case, Words
from apuflow.conformance.inputs import generator, random_words
from apuflow.conformance.vector_operands import EXECUTION
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding

Own: TypeAlias = Callable[[Encoding, str, str, str], Iterator[Case]]
"""Cases of an instruction: its encoding, name, name as assembled, LLVM's processor."""
_LANES = np.array([0, 1, 5, 17, 31, 32, 62, 63], np.uint32)[:, None]
_INDICES = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.uint32)[:, None]


def _random(name: str, *shape: int) -> Words:
    return random_words(generator(name), *shape)


def _masked(execution: str) -> tuple[str, ...]:
    if not execution:
        return ()
    low, high = EXECUTION[execution]
    return f"s_mov_b32 exec_lo, {low:#x}", f"s_mov_b32 exec_hi, {high:#x}"


def _idle(encoding: Encoding, name: str, text: str, processor: str) -> Iterator[Case]:
    yield Case(Form(encoding, name), text, processor, {"v2": _random(name, ROUNDS, 1, 64)}, {}, ("v2",))


def _first_lane(encoding: Encoding, name: str, text: str, processor: str) -> Iterator[Case]:
    case = Case(Form(encoding, name), f"{text} s20, v10", processor, {"v10": _random(name, ROUNDS, 1, 64)})
    return _by_masks(replace(case, results=("s20",)))


def _by_masks(case: Case, words: Iterable[str] = ()) -> Iterator[Case]:
    """A trial with all lanes, and with each execution mask; ``words``: features of all."""
    for each in ("", *EXECUTION):
        form = case.form._replace(features=tuple(sorted({*words, each} - {""})))
        yield replace(case, form=form, before=(*case.before, *_masked(each)))


_READ: Final[tuple[tuple[str, ...], ...]] = (
    ("s24", "scalar1"),
    ("5", "constant1"),
    ("63", "constant1"),
    ("m0", "m01"),
    ("vcc_lo", "vcc1"),
)
_WRITTEN: Final[tuple[tuple[str, ...], ...]] = (
    *(("s24, 5", "constant1", "scalar0"), ("7, s28", "constant0", "scalar1"), ("s24, m0", "m01", "scalar0")),
    *(("0.5, 33", "constant1", "float0"), ("m0, 63", "constant1", "m00"), ("vcc_lo, 0", "constant1", "vcc0")),
)
_HOLD: Final[Mapping[str, str]] = {"m0": "s_mov_b32 m0, s44", "vcc": "s_mov_b64 vcc, s[44:45]"}


def _lane(encoding: Encoding, name: str, text: str, processor: str) -> Iterator[Case]:
    """V_READLANE and V_WRITELANE, which do not look at EXEC."""
    reads = "read" in name
    register = "v10" if reads else "v2"
    vectors = {register: _random(name, ROUNDS, 1, 64)}
    number = {"s44": np.concatenate([_LANES, _LANES], 1)}
    scalars = {"s24": _LANES if reads else _random(name, ROUNDS, 1), "s28": _LANES, **number}
    for operands, *words in _READ if reads else _WRITTEN:
        before = tuple(each for key, each in _HOLD.items() if key in operands)
        goal, result = (f"s20, v10, {operands}", "s20") if reads else (f"v2, {operands}", "v2")
        form = Form(encoding, name, tuple(sorted(words)))
        case = Case(form, f"{text} {goal}", processor, vectors, scalars, (result,), before)
        yield from _by_masks(case, words) if "24" in operands else (case,)


def _swap(encoding: Encoding, name: str, text: str, processor: str) -> Iterator[Case]:
    vectors = {each: _random(name + each, ROUNDS, 1, 64) for each in ("v2", "v10")}
    return _by_masks(Case(Form(encoding, name), f"{text} v2, v10", processor, vectors, {}, ("v2", "v10")))


def _relative(encoding: Encoding, name: str, text: str, processor: str) -> Iterator[Case]:
    """V_MOVREL: registers whose number M0 raises."""
    vectors = {each: _random(name + each, ROUNDS, 8, 64) for each in ("v2", "v10")}
    given = (f"{text} v2, v10", processor, vectors, {"s44": _INDICES}, ("v[2:9]",), (_HOLD["m0"],))
    return _by_masks(Case(Form(encoding, name), *given))


OWN: Final[Mapping[str, Own]] = {
    "v_nop": _idle,
    "v_clrexcp": _idle,
    "v_readfirstlane_b32": _first_lane,
    "v_readlane_b32": _lane,
    "v_writelane_b32": _lane,
    "v_swap_b32": _swap,
    "v_movrels_b32": _relative,
    "v_movreld_b32": _relative,
    "v_movrelsd_b32": _relative,
}
"""By the instruction's name."""
