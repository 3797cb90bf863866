"""Trials of SMEM instructions.

A store is read back by the same wavefront: S_DCACHE_WB, which would write it to memory at once, is a trial of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from apuflow.conformance.case import PROCESSORS, ROUNDS, Case, Words
from apuflow.conformance.inputs import flags, generator, registers, words
from apuflow.conformance.places import PAGE, REGION, Features, operands
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import IsaName, opcodes

_PRIVATE: Final = "it needs private memory, which the trials' kernels do not have"
NOT_GENERATED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("s_memtime", "s_memrealtime"), "its result is defined as growing only"),
    **dict.fromkeys(
        ("s_atc_probe", "s_atc_probe_buffer"), "it fetches an address translation, which nothing shows"
    ),
    **dict.fromkeys(("s_dcache_discard", "s_dcache_discard_x2"), "it leaves memory undefined"),
    **{
        f"s_scratch_{kind}_dword{count}": _PRIVATE for kind in ("load", "store") for count in ("", "x2", "x4")
    },
}
"""Instructions without a trial, and why."""
_STORED: Final[tuple[Features, ...]] = ((), ("offset",), ("m01",))
_RETURNED: Final[tuple[Features, ...]] = ((), ("glc",))
_OFFSET, _BASE, _TARGET, _DATA, _READ = 16, 18, 20, 36, 52
"""Scalar registers: offset, a pair with an address of its own, result, data of stores, what is read back."""
_WAIT: Final = "s_waitcnt vmcnt(0) lgkmcnt(0)"
_OWN_BASE: Final = (f"s_add_u32 s{_BASE}, s8, s{_BASE}", f"s_addc_u32 s{_BASE + 1}, s9, 0")
"""s[18:19] = s[8:9] + s18."""
_DESCRIPTOR: Final = ("s_mov_b64 s[56:57], s[12:13]", "s_mov_b64 s[58:59], s[14:15]")
_RESULT: Final = registers(_TARGET, 1)


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the SMEM instructions of an instruction set."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if encoding != "smem" or name in NOT_GENERATED:
            continue
        if name.startswith("s_dcache"):
            kept = {f"s{_TARGET}": words(list(range(ROUNDS)), 1)}
            yield Case(Form("smem", name), name, PROCESSORS[isa], {}, kept, (_RESULT,), after=(_WAIT,))
        elif "_load_" in name:
            for features in _ways("buffer" in name, _count(name), isa):
                yield _load(name, features, isa)
        elif "_store_" in name:
            for features in _STORED:
                yield _store(name, features, isa)
        else:
            for features in _RETURNED:
                yield _atomic(name, features, isa)


def _count(name: str) -> int:
    return int(name.rpartition("_dword")[2].removeprefix("x") or 1)


def _ways(buffer: bool, count: int, isa: IsaName) -> Iterator[Features]:
    """Features of the trials of a load."""
    yield from ((), ("offset",), ("soffset",), ("m01",), ("glc",), ("offset", "unaligned"))
    yield from (("soffset", "unaligned"), ("large", "offset"))
    if count > 1:
        yield from (("across_lines", "offset"), ("across_pages", "offset"), ("across_lines", "soffset"))
    if isa != "gcn3":
        yield ("offset", "soffset")
    if buffer:
        yield from (("offset", "out_of_range"), ("out_of_range", "soffset"), ("offset", "stride"))
        if count > 1:
            yield ("offset", "out_of_range", "partly_out_of_range")
    else:
        yield ("unaligned",)
        if isa != "gcn3":
            yield ("negative", "offset", "soffset")


def _load(name: str, features: Features, isa: IsaName) -> Case:
    count, buffer = _count(name), "buffer" in name
    target = registers(_TARGET, count)
    random = generator(name, *features)
    moved = 4 * random.integers(0, 15 * PAGE // 4, ROUNDS)
    fixed, before, base = 0, tuple[str, ...](), "s[12:15]" if buffer else "s[8:9]"
    scalars: dict[str, Words] = {}
    if "across_lines" in features:
        fixed, moved = 64 * 17 - 4, moved // 64 * 64 + 60
    elif "across_pages" in features:
        fixed = 2 * PAGE - 4
    elif "offset" in features:
        fixed = 0xF0A4 if "large" in features else 0x2C4
    if "unaligned" in features:
        fixed, moved = fixed + 3 if "offset" in features else 0, moved + 1 + moved // 4 % 3
        if "offset" not in features and "soffset" not in features:
            base, before = registers(_BASE, 2), _OWN_BASE
            scalars[f"s{_BASE}"] = words([int(each) for each in moved], 1)
    if "negative" in features:  # the sum with the register has to be positive
        fixed, moved = -0x804, 0x1000 + moved // 2 // 4 * 4
    if "out_of_range" in features:
        records = fixed + 4 if "partly_out_of_range" in features else 256
        base, before = "s[56:59]", (*_DESCRIPTOR, f"s_mov_b32 s58, {records}")
        moved = moved // 4 % 128 * 16
    elif "stride" in features:  # the descriptor counts 12 records of 64 bytes
        base, before = "s[56:59]", (*_DESCRIPTOR, "s_or_b32 s57, s57, 0x400000", "s_mov_b32 s58, 12")
    scalars[f"s{_OFFSET}"] = words([int(each) for each in moved], 1)
    if "m01" in features:
        before = (*before, f"s_mov_b32 m0, s{_OFFSET}")
    place = "m0" if "m01" in features else f"s{_OFFSET}" if "soffset" in features else f"{fixed:#x}"
    if "offset" in features and place != f"{fixed:#x}":
        place += f" offset:{fixed:#x}"
    text = f"{name} {target}, {base}, {place}{flags(features, 'glc')}"
    return _case(name, features, text, isa, scalars, target, before)


def _case(
    name: str,
    features: Features,
    text: str,
    isa: IsaName,
    scalars: dict[str, Words],
    result: str,
    before: tuple[str, ...],
    *after: str,
) -> Case:
    form, processor = Form("smem", name, features), PROCESSORS[isa]
    return Case(form, text, processor, {}, scalars, (result,), before, (_WAIT, *after), memory=True)


def _own_place() -> dict[str, Words]:
    return {f"s{_BASE}": words([REGION * number + 64 for number in range(ROUNDS)], 1)}


def _store(name: str, features: Features, isa: IsaName) -> Case:
    count = _count(name)
    data, read = registers(_DATA, count), registers(_READ, count)
    fixed = 0x124 if "offset" in features else 0
    scalars = _own_place() | {
        f"s{_DATA}": generator(name).integers(0, 1 << 32, (ROUNDS, count), "uint64").astype("uint32")
    }
    before: tuple[str, ...] = _OWN_BASE
    base, place = registers(_BASE, 2), f"{fixed:#x}"
    if "buffer" in name:
        before = (*_DESCRIPTOR, f"s_add_u32 s56, s56, s{_BASE}", "s_addc_u32 s57, s57, 0", *_OWN_BASE)
        base = "s[56:59]"
    if "m01" in features:
        place, before = "m0", (*before, "s_movk_i32 m0, 0x48")
        fixed = 0x48
    back = f"s_load_dword{name.rpartition('_dword')[2]} {read}, {registers(_BASE, 2)}, {fixed:#x}"
    text = f"{name} {data}, {base}, {place}"
    return _case(name, features, text, isa, scalars, read, before, back, _WAIT)


def _atomic(name: str, features: Features, isa: IsaName) -> Case:
    """One operation of the wavefront; a vector store of one lane puts what memory holds before."""
    size = 8 if name.endswith("_x2") else 4
    count = size // 4
    values = [each[:, :, 2] for each in operands(name, size)]
    scalars = _own_place() | {f"s{_TARGET}": values[1], "s28": values[0]}
    if "cmpswap" in name:
        scalars[f"s{_TARGET + count}"] = values[2]
    before: tuple[str, ...] = (
        *(*_OWN_BASE, f"v_mov_b32 v4, s{_BASE}", f"v_mov_b32 v5, s{_BASE + 1}"),
        *(f"v_mov_b32 v{8 + each}, s{28 + each}" for each in range(count)),
        *(f"flat_store_dword{'x2' if size == 8 else ''} v[4:5], {registers(8, count, 'v')}", _WAIT),
    )
    base = registers(_BASE, 2)
    if "buffer" in name:
        before = (*before, *_DESCRIPTOR, f"s_mov_b32 s56, s{_BASE}")
        base = "s[56:59]"
    target = registers(_TARGET, count * (2 if "cmpswap" in name else 1))
    text, result = f"{name} {target}, {base}, 0x0{flags(features, 'glc')}", registers(_TARGET, count)
    return _case(name, features, text, isa, scalars, result, before, "s_dcache_wb", _WAIT)
