"""Trials of DS instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from apuflow.conformance.case import LDS_BYTES, PROCESSORS, ROUNDS, Case, Words
from apuflow.conformance.inputs import LANE, ROUND, generator, registers, words
from apuflow.conformance.memory import SUMS, masked, way_of
from apuflow.conformance.places import Features, data, operands
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import IsaName, opcodes

NOT_GENERATED: Final[Mapping[str, str]] = {
    "ds_condxchg32_rtn_b64": "the manual has no more than its name",
}
"""Instructions without a trial, and why."""
_ADDRESS, _DATA, _SECOND, _TARGET, _BEFORE = 2, 8, 12, 20, 24
"""Vector registers: address in LDS, data, second data, result, what LDS holds before an atomic."""
_STEP: Final = 32
"""Bytes of LDS that a lane has for itself."""
_WAIT: Final = "s_waitcnt lgkmcnt(0)"
_PLACES: Final = ("strided", "random_places", "same_address", "unaligned")
_ACCESS: Final = re.compile(r"ds_(read|write)(2?)(st64)?(_addtid)?_[bui](\d+)(_d16)?(_hi)?")
_EXCHANGES: Final = ("ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32")
_SWIZZLES: Final[Mapping[str, tuple[int, ...]]] = {
    "quad_perm": (0x8000 | 0xE4, 0x8000 | 0x1B, 0x8000 | 0x93, 0x8000),
    "bit_mask": (0x001F, 0x041F, 0x401F, 0x7C1F, 0x0000, 0x02BC),
    "rotate": (0xC000 | 1 << 5, 0xC400 | 3 << 5, 0xC000 | 5 << 5 | 0x18),
    "fft": (0xE000, 0xE01F, 0xE00C),
}
"""Offsets of DS_SWIZZLE_B32 by its modes; Vega alone has the last two."""


_COUNTED: Final[tuple[Features, ...]] = ((), ("offset",), ("some_lanes",), ("no_lane",))
_FROM_SECOND: Final[tuple[Features, ...]] = (("offset",), ("negative", "offset"), ("offset", "some_lanes"))
_EXCHANGED: Final[tuple[Features, ...]] = (
    *((), ("same_address",), ("some_lanes",), ("offset",), ("large",), ("unaligned",), ("one_lane",)),
)


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the DS instructions of an instruction set."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if encoding != "ds" or name in NOT_GENERATED:
            continue
        if name in _EXCHANGES:
            yield from _exchanged(name, isa)
        elif name == "ds_nop":
            yield _case(name, (), "ds_nop", isa, {}, ())
        elif name in ("ds_append", "ds_consume"):
            for features in _COUNTED:
                yield _counted(name, features, isa)
        elif form := _ACCESS.fullmatch(name):
            for features in _ways(form):
                yield _accessed(name, form, features, isa)
        elif "_src2_" in name:
            for features in _FROM_SECOND:
                yield _from_second(name, features, isa)
        else:
            for features in _atomic_ways(name):
                yield _atomic(name, features, isa)


def _ways(form: re.Match[str]) -> Iterator[Features]:
    """Features of the trials of a read or write."""
    yield from ((), ("offset",), ("some_lanes",), ("no_lane",))
    if form[4]:
        return
    yield from (("one_lane",), ("strided",), ("random_places",))
    if form[1] == "read":
        yield ("same_address",)
    if int(form[5]) >= 64:
        yield ("unaligned",)


def _atomic_ways(name: str) -> Iterator[Features]:
    yield from ((), ("offset",), ("some_lanes",), ("random_places",))
    if "rtn" not in name and SUMS.fullmatch(name.removeprefix("ds_")):
        yield ("same_address",)


def _places(features: Features, size: int, alone: int = _STEP) -> Words:
    """Bytes in LDS, (ROUNDS, 1, 64); ``alone``: bytes from lane to lane where none is the next one's."""
    match way_of(features, _PLACES):
        case "strided":
            inside = alone * LANE + 0 * ROUND
        case "random_places":
            order = np.argsort(generator(size).random((ROUNDS, 64)), 1)
            inside = alone * order + (size * (order % 3) if size * 3 <= alone else 0)
        case "same_address":
            inside = 0 * LANE + 16 * ROUND
        case "unaligned":  # in words, as LDS takes them without a mode of its own
            inside = size * LANE + 4 + 0 * ROUND
        case _:
            inside = size * LANE + 0 * ROUND
    return inside.astype(np.uint32)[:, None, :]


def _case(
    name: str,
    features: Features,
    text: str,
    isa: IsaName,
    vectors: dict[str, Words],
    results: tuple[str, ...],
    before: tuple[str, ...] = (),
    scalars: Mapping[str, Words] | None = None,
) -> Case:
    """``before`` is executed with M0 as LDS of GCN3 asks for and with all lanes."""
    mask, set_exec = masked(features)
    limit = ("s_mov_b32 m0, -1",) if isa == "gcn3" else ()
    form, given = Form("ds", name, tuple(sorted(features))), {**mask, **(scalars or {})}
    every = (*limit, *before, *set_exec)
    return Case(form, text, PROCESSORS[isa], vectors, given, results, every, (_WAIT,), lds=True)


def _accessed(name: str, form: re.Match[str], features: Features, isa: IsaName) -> Case:
    size = int(form[5]) // 8
    count, twice, reads = max(1, size // 4), bool(form[2]), form[1] == "read"
    vectors = {f"v{_ADDRESS}": _places(features, size, _STEP if not form[3] else 8)}
    address = f"v{_ADDRESS}"
    before: tuple[str, ...] = ()
    scalars = {}
    if form[4]:  # M0 and the lane's number are the address
        address, vectors = "", {}
        scalars["s44"] = words([64 * each for each in range(ROUNDS)], 1)
        before = ("s_mov_b32 m0, s44",)
    data_registers = [registers(first, count, "v") for first in (_DATA, _SECOND)[: 1 + twice]]
    if not reads:
        vectors |= {f"v{first}": data(f"{name}{first}", count) for first in (_DATA, _SECOND)[: 1 + twice]}
    target = registers(_TARGET, count * (1 + twice), "v")
    operands_ = [target, address] if reads else [address, *data_registers]
    text = f"{name} " + ", ".join(each for each in operands_ if each) + _offset(form, features)
    return _case(name, features, text, isa, vectors, (target,) if reads else (), before, scalars)


def _offset(form: re.Match[str], features: Features) -> str:
    """Offsets; of two, the second leads to a place that no lane has by the first."""
    if not form[2]:
        return " offset:260" if "offset" in features else ""
    if "offset" in features:
        first, second = 3, 1 if form[3] else 130
    else:
        first, second = 0, 2 if form[3] else 1 if way_of(features, _PLACES[:2]) else 128
    return f" offset0:{first} offset1:{second}"


def _atomic(name: str, features: Features, isa: IsaName) -> Case:
    """LDS holds values that suit the operands; an atomic with floats gets some of one sign and of both."""
    word = name.removeprefix("ds_")
    size = 8 if word.endswith("64") else 4
    count, returns = size // 4, "_rtn" in word
    twice = "xchg2" in word
    before, value, other = operands(word, size, same="same_address" in features)
    if word.endswith(("f32", "f64")):
        before, value, other = (_floats(each, size) for each in (before, value, other))
    vectors = {f"v{_ADDRESS}": _places(features, size, 16), f"v{_DATA}": value, f"v{_BEFORE}": before}
    compared = word.startswith("cmpst")
    if compared:
        vectors |= {f"v{_DATA}": other, f"v{_SECOND}": value}
    elif twice or word.startswith(("mskor", "wrap")):
        vectors[f"v{_SECOND}"] = other
    offset = " offset:1032" if "offset" in features else ""
    if twice:
        apart = 4 if "st64" in word else 1 if "random_places" in features else 130
        offset = f" offset0:{int('offset' in features)} offset1:{apart}"
    target = registers(_TARGET, count * (1 + twice), "v")
    sent = [registers(each, count, "v") for each in (_DATA, _SECOND) if f"v{each}" in vectors]
    text = f"{name} " + ", ".join([*([target] if returns else []), f"v{_ADDRESS}", *sent]) + offset
    write = f"ds_write_b{8 * size} v{_ADDRESS}, {registers(_BEFORE, count, 'v')}{'' if twice else offset}"
    return _case(name, features, text, isa, vectors, (target,) if returns else (), (write, _WAIT))


def _floats(values: Words, size: int) -> Words:
    """Finite normal numbers of the same signs."""
    high = values[:, -1]
    exponent = np.uint32(0x7F800000 if size == 4 else 0x7FF00000)
    middle = np.uint32(0x40000000)
    values = values.copy()
    values[:, -1] = high & ~exponent | middle
    return values


def _from_second(name: str, features: Features, isa: IsaName) -> Case:
    """The operand stands in LDS, the offset's words behind the address, or before it."""
    size = 8 if name.endswith("64") else 4
    count = size // 4
    negative = "negative" in features
    first = _places((), size) + np.uint32(LDS_BYTES // 2 if negative else 0)
    second = 257 if not negative else -256
    values = [
        generator(name, each).integers(0, 1 << 32, (ROUNDS, count, 64), "uint64").astype("uint32")
        for each in "ab"
    ]
    if name.endswith(("f32", "f64")):
        values = [_floats(each, size) for each in values]
    vectors = {
        f"v{_ADDRESS}": first,
        f"v{_ADDRESS + 1}": first + np.uint32(4 * second & 0xFFFFFFFF),
        f"v{_DATA}": values[0],
        f"v{_SECOND}": values[1],
    }
    writes = tuple(
        f"ds_write_b{8 * size} v{address}, {registers(value, count, 'v')}"
        for address, value in ((_ADDRESS, _DATA), (_ADDRESS + 1, _SECOND))
    )
    text = f"{name} v{_ADDRESS} offset:{second & 0x7FFF}"
    return _case(name, features, text, isa, vectors, (), (*writes, _WAIT))


def _counted(name: str, features: Features, isa: IsaName) -> Case:
    """DS_APPEND, DS_CONSUME at M0 plus the offset."""
    offset = " offset:64" if "offset" in features else ""
    scalars = {"s44": words([128 * each for each in range(ROUNDS)], 1)}
    result = f"v{_TARGET}"
    return _case(
        name, features, f"{name} {result}{offset}", isa, {}, (result,), ("s_mov_b32 m0, s44",), scalars
    )


def _exchanged(name: str, isa: IsaName) -> Iterator[Case]:
    """Values of other lanes."""
    vectors = {f"v{_DATA}": data(name, 1)}
    if name == "ds_swizzle_b32":
        for mode, offsets in _SWIZZLES.items():
            if isa == "gcn3" and mode in ("rotate", "fft"):
                continue
            for number, offset in enumerate(offsets):
                some = ("some_lanes",) if number == 1 else ()
                text = f"{name} v{_TARGET}, v{_DATA}" + (f" offset:{offset:#x}" if offset else "")
                yield _case(name, (mode, *some), text, isa, vectors, (f"v{_TARGET}",))
        return
    random = generator(name)
    order = np.argsort(random.random((ROUNDS, 64)), 1)
    for features in _EXCHANGED:
        lanes = random.integers(0, 64, (ROUNDS, 64)) if features == ("same_address",) else order
        where = 4 * lanes + 256 * (lanes % 5) * ("large" in features) + 3 * ("unaligned" in features)
        vectors[f"v{_ADDRESS}"] = where.astype(np.uint32)[:, None, :]
        text = f"{name} v{_TARGET}, v{_ADDRESS}, v{_DATA}" + (" offset:20" if "offset" in features else "")
        yield _case(name, features, text, isa, dict(vectors), (f"v{_TARGET}",))
