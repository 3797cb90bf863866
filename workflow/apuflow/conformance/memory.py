"""Trials of FLAT and GLOBAL instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from apuflow.conformance.case import PROCESSORS, Case, Words
from apuflow.conformance.inputs import flags, registers
from apuflow.conformance.places import EXEC, SET_EXEC, Features, data, masks, operands, places, size_of
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding, IsaName, opcodes

WAIT: Final = "s_waitcnt vmcnt(0) lgkmcnt(0)"
OFFSET, ADDRESS, DATA, COMPARED, TARGET, BEFORE = 2, 4, 8, 10, 20, 24
"""Vector registers: bytes from the buffer's begin, address, data, value to compare, result, and an atomic's
memory before it."""
_MASKS: Final = ("some_lanes", "one_lane", "no_lane")
_PLACES: Final = ("strided", "random_places", "same_address", "unaligned", "across_lines", "across_pages")
_FLAGS: Final = ("glc", "slc")
MAIN: Final = frozenset(
    {
        *("load_ubyte", "load_dword", "load_dwordx2", "load_dwordx3", "load_dwordx4", "load_short_d16_hi"),
        *("store_byte", "store_short", "store_dword", "store_dwordx2", "store_dwordx3", "store_dwordx4"),
        *("atomic_add", "atomic_cmpswap", "atomic_add_x2", "atomic_cmpswap_x2"),
    }
)
"""Instructions that are tried in all ways; the others in some."""
SUMS: Final = re.compile(r"(add|sub|rsub|[su]?min|[su]?max|and|or|xor|inc|dec)(_x2|_[uib]\d\d)?")
"""Atomics whose result at one address does not depend on the lanes' order."""


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the FLAT and GLOBAL instructions of an instruction set."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if encoding in ("flat", "global"):
            kind = name.partition("_")[2]
            ways = _atomic_ways(kind, encoding, isa) if "atomic" in name else _ways(kind, encoding, isa)
            for features in ways:
                yield _case(encoding, name, features, isa)


def _addressing(encoding: Encoding, isa: IsaName) -> Iterator[Features]:
    if isa != "gcn3":
        yield ("offset",)
    if encoding == "global":
        yield from (("negative", "offset"), ("saddr",), ("offset", "saddr"), ("negative", "offset", "saddr"))


def _ways(kind: str, encoding: Encoding, isa: IsaName) -> Iterator[Features]:
    """Features of the trials of a load or store."""
    size = size_of(kind)
    yield ()
    yield ("some_lanes",)
    if size > 1:
        yield ("unaligned",)
    if kind not in MAIN:
        yield from list(_addressing(encoding, isa))[:3:2]
        return
    yield from _addressing(encoding, isa)
    yield from ((each,) for each in (*_MASKS[1:], *_FLAGS))
    for each in _PLACES:
        if each == "unaligned" or (each == "same_address" and kind.startswith("store")):
            continue
        if not each.startswith("across"):
            yield (each,)
        elif size > 4:
            yield (each,)
            yield (each, "some_lanes")
        elif size > 1:
            yield (each, "unaligned")


def _atomic_ways(kind: str, encoding: Encoding, isa: IsaName) -> Iterator[Features]:
    """Features of the trials of an atomic: ``glc`` returns the old value."""
    yield ()
    yield ("glc",)
    yield ("glc", "some_lanes")
    if SUMS.fullmatch(kind.removeprefix("atomic_")):
        yield ("same_address",)
    if kind in MAIN:
        yield from (("random_places",), ("glc", "random_places"), ("slc",), ("one_lane",), ("no_lane",))
        yield from (("glc", *each) for each in _addressing(encoding, isa))
        yield from (("glc", "no_lane"), ("some_lanes",))
    elif encoding == "global":
        yield ("glc", "saddr")


def addresses(isa: IsaName, offset: int = OFFSET) -> tuple[str, ...]:
    """v[4:5] = s[8:9] + the vector register ``offset``."""
    add, carry = ("v_add_u32", "v_addc_u32") if isa == "gcn3" else ("v_add_co_u32", "v_addc_co_u32")
    high = f"v{ADDRESS + 1}"
    return (
        f"v_mov_b32 {high}, s9",
        f"{add} v{ADDRESS}, vcc, s8, v{offset}",
        f"{carry} {high}, vcc, 0, {high}, vcc",
    )


def atomic_operands(name: str, size: int, *, same: bool) -> tuple[dict[str, Words], tuple[str, ...]]:
    """Vectors of an atomic, and the instructions that store what memory holds before it."""
    before, value, other = operands(name, size, same=same)
    vectors = {f"v{DATA}": value, f"v{BEFORE}": before}
    if "cmpswap" in name:
        vectors[f"v{DATA + size // 4}"] = other
    store = "flat_store_dword" + ("x2" if size == 8 else "")
    address = registers(ADDRESS, 2, "v")
    return vectors, (f"{store} {address}, {registers(BEFORE, size // 4, 'v')}", WAIT)


def way_of(features: Features, which: tuple[str, ...]) -> str:
    """The one of the words that is among the features."""
    return next((each for each in which if each in features), "")


def masked(features: Features) -> tuple[dict[str, Words], tuple[str, ...]]:
    """Scalars and the instruction for an execution mask."""
    kind = way_of(features, _MASKS)
    return ({f"s{EXEC}": masks(kind)}, (SET_EXEC,)) if kind else ({}, ())


def trial(
    form: Form,
    text: str,
    isa: IsaName,
    vectors: dict[str, Words],
    scalars: dict[str, Words],
    returned: str,
    before: tuple[str, ...],
    *,
    lds: bool = False,
) -> Case:
    """A trial with the buffer; ``returned``: the registers that are loaded, "" for none."""
    results = (returned,) if returned else ()
    processor = PROCESSORS[isa]
    return Case(form, text, processor, vectors, scalars, results, before, (WAIT,), memory=True, lds=lds)


def pattern_of(features: Features) -> str:
    """Where the lanes access memory."""
    across = way_of(features, ("across_lines", "across_pages"))
    return across or way_of(features, _PLACES)


def _case(encoding: Encoding, name: str, features: Features, isa: IsaName) -> Case:
    kind = name.partition("_")[2]
    atomic = kind.startswith("atomic")
    size = size_of(kind)
    count = max(1, size // 4)
    scalars, set_exec = masked(features)
    where = places(pattern_of(features), size)
    vectors = {f"v{OFFSET}": where}
    offset = 0 if "offset" not in features else -2048 if "negative" in features else 2036
    before, base = addresses(isa), OFFSET
    if atomic:  # memory before it stands where the offset leads
        more, stored = atomic_operands(kind, size, same="same_address" in features)
        vectors |= more
        before = (*before, *stored)
        if offset:
            base = OFFSET + 1
            vectors[f"v{base}"] = where - np.uint32(offset & 0xFFFFFFFF)
            before = (*before, *addresses(isa, base))
    elif "store" in kind:
        vectors[f"v{DATA}"] = data(kind, count)
    address = f"v{base}" if "saddr" in features else registers(ADDRESS, 2, "v")
    sent = registers(DATA, count * (2 if "cmpswap" in kind else 1), "v") if "load" not in kind else ""
    returned = registers(TARGET, count, "v") if "load" in kind or (atomic and "glc" in features) else ""
    text = f"{name} " + ", ".join(each for each in (returned, address, sent) if each)
    if encoding == "global":
        text += ", s[8:9]" if "saddr" in features else ", off"
    text += f" offset:{offset}" if offset else ""
    text += flags(features, *_FLAGS)
    return trial(Form(encoding, name, features), text, isa, vectors, scalars, returned, (*before, *set_exec))
