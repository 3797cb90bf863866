"""Trials of scalar instructions: SOP1, SOP2, SOPC, SOPK, SOPP."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from apuflow.conformance.case import PROCESSORS, ROUNDS, Case, Words
from apuflow.conformance.inputs import generator, registers, words
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding, IsaName, opcodes

_DEBUG = "it branches by bits that only a debugger sets"
_FORKS = "it keeps a stack of execution masks that the interpreter does not have"
NOT_GENERATED: Final[Mapping[str, str]] = {
    "s_endpgm": "every kernel ends with it",
    "s_endpgm_saved": "it ends the kernel",
    "s_endpgm_ordered_ps_done": "it ends a pixel shader",
    "s_sethalt": "it stops the wavefront",
    "s_trap": "it calls a handler that gem5 and the interpreter do not have",
    "s_rfe_b64": "it returns from a trap's handler",
    "s_rfe_restore_b64": "it returns from a trap's handler",
    "s_sendmsg": "its message goes to the driver",
    "s_sendmsghalt": "its message goes to the driver",
    "s_setkill": "it ends the wavefront",
    "s_cbranch_cdbgsys": _DEBUG,
    "s_cbranch_cdbguser": _DEBUG,
    "s_cbranch_cdbgsys_or_user": _DEBUG,
    "s_cbranch_cdbgsys_and_user": _DEBUG,
    "s_cbranch_join": _FORKS,
    "s_cbranch_g_fork": _FORKS,
    "s_cbranch_i_fork": _FORKS,
}
"""Instructions without a trial, and why."""

_SPECIAL32: Final = (0, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 1, 0xFFFF8000, 0x00010000)
_SPECIAL64: Final = (0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1, 0xFFFFFFFF, 1 << 32)
_CONSTANTS: Final = (5, -7)
_LITERAL: Final = 0x12345678
_SETTINGS: Final = {"constant": "5", "float": "1.0", "literal": "0x12345678"}
_SOURCES: Final = {"vcc": ("vcc_lo", "vcc"), "m0": ("m0", ""), "exec": ("exec_lo", "exec")}
_TARGET, _FIRST, _SECOND, _FLAG, _HELD = 20, 16, 18, 40, 42
"""Scalar registers: of the result, the sources, SCC, and the value for VCC, M0 or EXEC."""
_SET_FLAG: Final = f"s_cmp_lg_u32 s{_FLAG}, 0"
_TO_SPECIAL: Final = frozenset(
    {
        *("s_mov_b32", "s_mov_b64", "s_not_b64", "s_and_b32", "s_and_b64", "s_or_b64", "s_xor_b64"),
        *("s_andn2_b64", "s_add_u32", "s_cselect_b32", "s_cselect_b64", "s_lshl_b64", "s_movk_i32"),
        *("s_and_saveexec_b64", "s_or_saveexec_b64"),
    }
)
"""Instructions that are tried with the targets VCC, M0 and EXEC."""


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the scalar instructions of an instruction set."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if name in NOT_GENERATED:
            continue
        match encoding:
            case "sop1" | "sop2" | "sopc":
                yield from _OWN[name](encoding, name, isa) if name in _OWN else _computed(encoding, name, isa)
            case "sopk" if name.endswith("k_i32") or name.startswith(
                ("s_cmpk", "s_getreg", "s_setreg", "s_call")
            ):
                yield from _OWN.get(name, _fixed)(encoding, name, isa)
            case "sopp":
                yield from _OWN.get(name, _idle)(encoding, name, isa)


def _widths(encoding: Encoding, name: str) -> tuple[int, tuple[int, ...]]:
    """Words of the result (0: none), and of each source."""
    wide = 2 if name.endswith("64") else 1
    if encoding == "sopc":
        return 0, (wide, 1 if "bitcmp" in name else wide)
    if encoding == "sop2":
        if "_bfm_" in name:
            return wide, (1, 1)
        return wide, (wide, 1 if re.search("sh[lr]_|_bfe_", name) else wide)
    if name.startswith("s_bitset"):
        return wide, (1,)
    if name == "s_bitreplicate_b64_b32":
        return 2, (1,)
    return (1 if "_i32_" in name else wide), (wide,)


def _values(name: str, number: int, width: int, near: int | None) -> list[int]:
    """Values of a source in each round; ``near``: a constant that it is set against."""
    random = generator(name, number, near)
    every = [int(each) for each in random.integers(0, 1 << 32, 2 * ROUNDS, np.uint64)]
    pairs = [every[2 * each] << 32 | every[2 * each + 1] for each in range(ROUNDS)]
    mask = (1 << 32 * width) - 1
    if "bfe" in name and number:
        return [0x00080004, 0x00200000, 0x3, 0x0010001F, 0x007F0001, 0x00010005, 0x000C0014, 0x00400020]
    if re.search("bfm|bitset", name) or (re.search("sh[lr]_|bitcmp", name) and number == 1):
        return [*(0, 1, 31, 32, 33, 63, 0xFFFFFFE5, 13)[number:], *[17] * number]
    special = list(_SPECIAL64 if width == 2 else _SPECIAL32)
    if near is not None:
        return [
            near & mask,
            near + 1 & mask,
            near - 1 & mask,
            *special[1:4],
            *(pairs[6] & mask, pairs[7] & mask),
        ]
    if number:  # against the first source: equal, near it, of another sign
        first = _values(name, 0, width, None)
        return [
            first[0],
            1,
            first[2] ^ (1 << 32 * width - 1),
            1,
            2,
            first[5],
            *(each & mask for each in pairs[6:]),
        ]
    return [*special, pairs[7] & mask]


def _case(
    form: Form, text: str, isa: IsaName, scalars: dict[str, Words], results: tuple[str, ...], *before: str
) -> Case:
    flag = words([1 - each % 2 for each in range(ROUNDS)], 1)
    scalars = {**scalars, f"s{_FLAG}": flag}
    return Case(form, text, PROCESSORS[isa], {}, scalars, results, (*before, _SET_FLAG))


def _computed(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """A result, SCC, or both from one or two sources."""
    goal, widths = _widths(encoding, name)
    target = registers(_TARGET, goal) if goal else ""
    places = (_FIRST, _SECOND)[: len(widths)]
    plain = [registers(place, width) for place, width in zip(places, widths, strict=True)]
    results = (
        *([target] if goal else []),
        "scc",
        *(["exec"] if "saveexec" in name or "wrexec" in name else []),
    )
    held = words([int(each) for each in generator(name).integers(1, 1 << 63, ROUNDS, np.uint64)], 2)

    def made(
        features: Sequence[str],
        operands: Sequence[str],
        *before: str,
        near: int | None = None,
        into: str = "",
    ) -> Case:
        scalars = {
            operand: words(_values(name, number, widths[number], near), widths[number])
            for number, operand in enumerate(operands)
            if re.match(r"s[\d[]", operand)
        }
        if before:
            scalars[registers(_HELD, 2)] = held
        into = into or target
        if goal and into not in scalars and into == target:
            scalars[into] = words(_values(name, 2, goal, None), goal)
        form = Form(encoding, name, tuple(sorted(features)))
        text = f"{name} " + ", ".join([*([into] if goal else []), *operands])
        shown = tuple(into.partition("_")[0] if each == target else each for each in results)
        return _case(form, text, isa, _by_first(scalars), shown, *before)

    yield made((), plain)
    for number in range(len(widths)):
        for kind, shown in (*_SETTINGS.items(), ("constant", "-7")):
            features = [f"{kind}{number}", *(["negative"] if shown == "-7" else [])]
            operands = [*plain[:number], shown, *plain[number + 1 :]]
            yield made(features, operands, near=_number(kind, shown, max(widths)))
    for number, (kind, (short, long)) in itertools.product(range(len(widths)), _SOURCES.items()):
        shown = long if widths[number] == 2 else short
        if shown:
            operands = [*plain[:number], shown, *plain[number + 1 :]]
            setting = (
                f"s_mov_b32 m0, s{_HELD}" if kind == "m0" else f"s_mov_b64 {kind}, {registers(_HELD, 2)}"
            )
            yield made([f"{kind}{number}"], operands, setting)
    if goal and goal == widths[0]:
        yield made(("overlapping",), plain, into=plain[0])
    if name in _TO_SPECIAL:
        for kind, into in (("vcc", ("vcc_lo", "vcc")), ("m0", ("m0", "")), ("exec", ("exec_hi", "exec"))):
            if into[goal - 1] and not (kind == "exec" and "saveexec" in name):
                yield made((f"to_{kind}",), plain, into=into[goal - 1])


def _by_first(named: Mapping[str, Words]) -> dict[str, Words]:
    return {re.sub(r"s\[(\d+):\d+\]", r"s\1", name): value for name, value in named.items()}


def _number(kind: str, shown: str, width: int) -> int:
    if kind == "float":
        return 0x3FF0000000000000 if width == 2 else 0x3F800000
    return _LITERAL if kind == "literal" else int(shown)


def _fixed(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """SOPK with a number of 16 bits."""
    compares = name.startswith("s_cmpk")
    for number in (0x1234, 0xFFF0 if name.endswith("u32") else -16, 0x7FFF):
        features = {0x1234: (), 0x7FFF: ("large",)}.get(number, ("negative",))
        register = f"s{_TARGET}"
        values = words(_values(name, 0, 1, number), 1)
        for into in (register, *(("m0", "vcc_lo") if name in _TO_SPECIAL and not features else ())):
            kind = () if into == register else (f"to_{into.removesuffix('_lo')}",)
            form = Form(encoding, name, (*features, *kind))
            results = ("scc",) if compares else (into.removesuffix("_lo"), "scc")
            yield _case(form, f"{name} {into}, {number}", isa, {register: values}, results)


_UNKNOWN: Final = {
    "s_set_gpr_idx_on": "s_set_gpr_idx_on s16, gpr_idx(SRC0)",
    "s_set_gpr_idx_off": "s_set_gpr_idx_off",
    "s_set_gpr_idx_idx": "s_set_gpr_idx_idx s16",
    "s_set_gpr_idx_mode": "s_set_gpr_idx_mode gpr_idx(DST)",
    "s_setvskip": "s_setvskip s16, s18",
}
"""Instructions that the interpreter does not have; they change the vector instructions behind them."""


def _without_value(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    yield _case(Form(encoding, name), _UNKNOWN[name], isa, {"s16": words([0] * ROUNDS, 4)}, ("s16",))


def _idle(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """Instructions that leave every register as it is."""
    operand = {"s_waitcnt": " 0", "s_icache_inv": "", "s_wakeup": "", "s_barrier": "", "s_ttracedata": ""}
    yield _case(
        Form(encoding, name), name + operand.get(name, " 1"), isa, {}, (f"s{_TARGET}", "scc", "exec", "vcc")
    )


_SKIPPED: Final = (f"s_mov_b32 s{_TARGET}, 3", f"s_mov_b32 s{_TARGET + 1}, 4")
"""What a branch of one word goes over, and where it goes to."""
_BRANCH_RESULTS: Final = (registers(_TARGET, 2),)
_CONDITIONS: Final = {
    "scc0": (_SET_FLAG, 0, 1),
    "scc1": (_SET_FLAG, 1, 0),
    "vccz": (f"s_mov_b64 vcc, {registers(_HELD, 2)}", 0, 1 << 40),
    "vccnz": (f"s_mov_b64 vcc, {registers(_HELD, 2)}", 1 << 40, 0),
    "execz": (f"s_mov_b64 exec, {registers(_HELD, 2)}", 0, 1 << 40),
    "execnz": (f"s_mov_b64 exec, {registers(_HELD, 2)}", 1 << 40, 0),
}
"""By a branch's name: what sets its condition, a value with which it is met, one with which it is not."""


def _branch(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """A branch over one word, taken in all rounds, in none, or in every second one."""
    setting, met, unmet = _CONDITIONS.get(name.removeprefix("s_cbranch_"), ("s_nop 0", 0, 0))
    kinds = {"taken": (met, met), "not_taken": (unmet, unmet), "some_taken": (met, unmet)}
    for kind, values in kinds.items() if name != "s_branch" else (("taken", (0, 0)),):
        each = [values[number % 2] for number in range(ROUNDS)]
        scalars = {f"s{_FLAG}": words(each, 1), f"s{_HELD}": words(each, 2)}
        form, text = Form(encoding, name, (kind,)), f"{name} 1"
        yield Case(form, text, PROCESSORS[isa], {}, scalars, _BRANCH_RESULTS, (setting,), _SKIPPED)


def _jump(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """S_GETPC, S_SETPC, S_SWAPPC, S_CALL: the address that is kept is read from, as the code's own words."""
    from_here = ("s_getpc_b64 s[16:17]", "s_add_u32 s16, s16, 16", "s_addc_u32 s17, s17, 0")
    text = {
        "s_getpc_b64": "s_getpc_b64 s[18:19]",
        "s_setpc_b64": "s_setpc_b64 s[16:17]",
        "s_swappc_b64": "s_swappc_b64 s[18:19], s[16:17]",
        "s_call_b64": "s_call_b64 s[18:19], 1",
    }[name]
    read = () if name == "s_setpc_b64" else ("s_load_dword s22, s[18:19], 0x0", "s_waitcnt lgkmcnt(0)")
    results = (*_BRANCH_RESULTS, *(("s22",) if read else ()))
    before = () if name in ("s_getpc_b64", "s_call_b64") else from_here
    yield Case(Form(encoding, name), text, PROCESSORS[isa], {}, {}, results, before, (*_SKIPPED, *read))


def _relative(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """S_MOVRELS, S_MOVRELD: a register whose number is M0 more."""
    count = 2 if name.endswith("64") else 1
    step = [0, 2, 4, 6, 8, 10, 2, 0] if count == 2 else [0, 1, 2, 3, 5, 8, 13, 15]
    source = generator(name).integers(0, 1 << 32, (ROUNDS, 16), np.uint64).astype(np.uint32)
    scalars = {"s16": source, "s44": words(step, 1)}
    text, before = f"{name} {registers(48, count)}, {registers(16, count)}", ("s_mov_b32 m0, s44", "s_nop 0")
    yield _case(Form(encoding, name), text, isa, scalars, ("s[48:63]", "scc"), *before)


def _mode(encoding: Encoding, name: str, isa: IsaName) -> Iterator[Case]:
    """The rounding of 32 bits is set to a value of its own, read back, and set back to 0."""
    field = "hwreg(HW_REG_MODE, 0, 2)"
    read, back = f"s_getreg_b32 s20, {field}", f"s_setreg_imm32_b32 {field}, 0"
    value = "2" if name == "s_setreg_imm32_b32" else "s16"
    setting = read if name == "s_getreg_b32" else f"{name} {field}, {value}"
    case = _case(Form(encoding, name), setting, isa, {"s16": words([0, 1, 2, 3] * 2, 1)}, ("s20", "scc"))
    yield case if name == "s_getreg_b32" else replace(case, after=(read, back))


_OWN: Final = {
    **dict.fromkeys(("s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64"), _relative),
    **dict.fromkeys(("s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"), _jump),
    **dict.fromkeys(_UNKNOWN, _without_value),
    **dict.fromkeys(("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"), _mode),
    **dict.fromkeys(("s_branch", *(f"s_cbranch_{each}" for each in _CONDITIONS)), _branch),
}
