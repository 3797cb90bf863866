"""Trials of MUBUF and MTBUF instructions.

None is unaligned: by the manual the lower two bits of an address are ignored, by ROCm's setting of the GPU
they count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import numpy as np

from apuflow.conformance.case import MEMORY_BYTES, PROCESSORS, ROUNDS, Case, Words
from apuflow.conformance.inputs import LANE, ROUND, flags, registers, words
from apuflow.conformance.memory import (
    DATA,
    MAIN,
    OFFSET,
    SUMS,
    TARGET,
    WAIT,
    addresses,
    atomic_operands,
    masked,
    pattern_of,
    trial,
)
from apuflow.conformance.places import BEGIN, REGION, Features, data, places, size_of
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding, IsaName, opcodes

NOT_GENERATED: Final[Mapping[str, str]] = {
    f"{kind}_format_d16_xyz": "whether it keeps the half of a register that it does not name is not written"
    for kind in ("buffer_load", "buffer_store", "tbuffer_load", "tbuffer_store")
}
"""Instructions without a trial, and why. On GCN3, no instruction of D16: GPUs differ in their registers."""
_NOT_ON: Final[Mapping[str, Collection[str]]] = {
    "vega": tuple(NOT_GENERATED),
    "gcn3": tuple(name for name in opcodes("gcn3").values() if "_d16_" in name),
}
_MOVED: Final = 45
"""Scalar register of the offset."""
_STRIDE: Final = 64
_MAIN: Final = MAIN - {"load_short_d16_hi"} | {"load_short_d16"}
_TO_LDS: Final = frozenset({"load_ubyte", "load_sbyte", "load_ushort", "load_sshort", "load_dword"})
_FORMATTED: Final[tuple[Features, ...]] = (("offen",), ("offen", "some_lanes"))
_FORMATS: Final = {"x": 4, "xy": 11, "xyz": 13, "xyzw": 14}
"""DATA_FORMAT of as many words of 32 bits."""


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the buffer instructions of an instruction set."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if encoding == "mubuf" and name.startswith("buffer_wb"):
            form = Form(encoding, name)
            vectors = {f"v{TARGET}": data(name, 1)}
            yield Case(form, name, PROCESSORS[isa], vectors, {}, (f"v{TARGET}",), after=(WAIT,))
        elif encoding in ("mubuf", "mtbuf") and "_format_" in name and name not in _NOT_ON[isa]:
            for features in _FORMATTED:
                yield _formatted(encoding, name, features, isa)
        elif encoding == "mubuf" and "_format_" not in name:
            for features in _ways(name.partition("_")[2]):
                yield _case(name, features, isa)


def _ways(kind: str) -> Iterator[Features]:
    """Features of the trials of an instruction."""
    yield from (("offen",), ("offen", "some_lanes"), ("offen", "offset"), ("idxen", "stride"))
    if kind.startswith("atomic"):
        yield from (("glc", "offen"), ("glc", "offen", "some_lanes"))
        if SUMS.fullmatch(kind.removeprefix("atomic_")):
            yield ("offen", "same_address")
        if kind in _MAIN:
            yield from (("offen", "slc"), ("glc", "offen", "out_of_range"), ("glc", "offen", "random_places"))
            yield from (("no_lane", "offen"), ("one_lane", "soffset"), ("glc", "idxen", "stride"))
        return
    if kind in _TO_LDS:
        yield from (("lds", "offen"), ("lds", "offen", "offset"), ("lds", "offen", "some_lanes"))
    size = size_of(kind)
    yield ("offen", "out_of_range")
    if kind not in _MAIN:
        return
    yield from (("idxen", "offen", "stride"), ("offen", "soffset"), ("constant2", "offen"), ("m02", "offen"))
    yield from (("idxen", "out_of_range", "stride"), ("offen", "out_of_range", "soffset"))
    yield from (("one_lane", "soffset"), ("no_lane", "offen"), ("glc", "offen"), ("offen", "slc"))
    yield from (("add_tid", "soffset", "stride"), ("offen", "strided"), ("offen", "random_places"))
    if kind.startswith("load"):
        yield from (("offset",), ("offen", "same_address"), ("soffset",))
    if size <= 4:
        yield ("idxen", "offen", "stride", "swizzled")
    else:
        yield from (("offen", "out_of_range", "partly_out_of_range"), ("across_lines", "offen"))
        yield ("across_pages", "offen")


def _where(features: Features, size: int) -> tuple[dict[str, Words], dict[str, Words], int]:
    """Vectors with index and offset, scalars with SOFFSET, and the instruction's own offset."""
    offset = 2036 if "offset" in features else 0
    bytes_ = places(pattern_of(features), size)
    vectors: dict[str, Words] = {}
    moved = np.zeros(ROUNDS, np.int64)
    if "swizzled" in features:
        index = ROUND * 64 + (LANE * 37 + 11) % 64
        vectors[f"v{OFFSET}"] = index.astype(np.uint32)[:, None, :]
        vectors[f"v{OFFSET + 1}"] = (0 * ROUND + LANE % 4 * 4).astype(np.uint32)[:, None, :]
        return vectors, {}, 0
    if "soffset" in features:
        alone = "offen" not in features
        moved = np.arange(ROUNDS) * REGION + BEGIN if alone else np.arange(ROUNDS) * 4 + 256
        bytes_ = bytes_ - np.uint32(0 if alone else 256)
    if "out_of_range" in features and "idxen" not in features:
        bytes_ = _beyond(bytes_, "partly_out_of_range" in features)
    register = OFFSET
    if "idxen" in features:
        index = ROUND * (REGION // _STRIDE) + BEGIN // _STRIDE + (LANE * 37 + 11) % 64
        if "out_of_range" in features:
            index = np.where(LANE % 8, 4096 + LANE, ROUND * 8 + LANE // 8)
        vectors[f"v{register}"] = index.astype(np.uint32)[:, None, :]
        register += 1
    if "offen" in features:
        inside = (0 * ROUND + LANE % 4 * 8 + 8).astype(np.uint32)[:, None, :]
        vectors[f"v{register}"] = inside if "idxen" in features else bytes_ - np.uint32(offset)
    return vectors, {f"s{_MOVED}": words([int(each) for each in moved], 1)}, offset


def _beyond(inside: Words, partly: bool) -> Words:
    """Every second lane beyond NUM_RECORDS, which is half of the buffer; ``partly``: four bytes before it."""
    half = MEMORY_BYTES // 2
    if partly:
        where = inside.copy()
        where[:, :, 1::2] = half + 64 * np.arange(32)
        where[3, 0, 1] = half - 4  # one lane alone, for the bytes that it stores
        return where
    beyond = np.where(inside < half, inside + np.uint32(half + BEGIN), inside)
    return np.where(np.arange(64) % 2, beyond, inside).astype(np.uint32)


def _descriptor(features: Features, isa: IsaName) -> tuple[str, ...]:
    """Instructions that make s[24:27] of the buffer's own descriptor; none: it is that one."""
    changes = []
    if "stride" in features:
        stride = 16 if "swizzled" in features else _STRIDE
        changes.append(f"s_or_b32 s25, s25, {stride << 16 | ('swizzled' in features) << 31:#x}")
    if "out_of_range" in features:
        changes.append(f"s_mov_b32 s26, {MEMORY_BYTES // 2 if 'idxen' not in features else 4096}")
    if "swizzled" in features:
        element = 1 << 19 if isa == "gcn3" else 0  # 4 bytes; Vega has no other
        changes.append(f"s_mov_b32 s27, {0x27FAC | 3 << 21 | element:#x}")
    if "add_tid" in features:
        changes.append(f"s_mov_b32 s27, {1 << 23:#x}")
    return ("s_mov_b64 s[24:25], s[12:13]", "s_mov_b64 s[26:27], s[14:15]", *changes) if changes else ()


def _case(name: str, features: Features, isa: IsaName) -> Case:
    kind = name.partition("_")[2]
    atomic, lds = kind.startswith("atomic"), "lds" in features
    size = size_of(kind)
    count = max(1, size // 4)
    mask, set_exec = masked(features)
    vectors, moved, offset = _where(features, size)
    before: tuple[str, ...] = ()
    if atomic:
        before = _stored_before(kind, size, features, vectors, offset, isa)
    elif kind.startswith("store"):
        vectors[f"v{DATA}"] = data(kind, count)
    descriptor = _descriptor(features, isa)
    before = (*before, *descriptor)
    if "m02" in features or lds:
        before = (*before, f"s_mov_b32 m0, {512 if lds else 0}")
    sent = registers(DATA if not kind.startswith("load") else TARGET, count * (1 + ("cmpswap" in kind)), "v")
    registers_of_address = ("offen" in features) + ("idxen" in features)
    address = registers(OFFSET, registers_of_address, "v") if registers_of_address else "off"
    scalar_offset = f"s{_MOVED}" if "soffset" in features else "m0" if "m02" in features else "0"
    text = "" if lds else f"{sent}, "
    text = f"{name} {text}{address}, {'s[24:27]' if descriptor else 's[12:15]'}, "
    text += "16" if "constant2" in features else scalar_offset
    text += flags(features, "idxen", "offen")
    text += f" offset:{offset}" if offset else ""
    text += flags(features, "glc", "slc", "lds")
    returned = ""
    if not lds and (kind.startswith("load") or (atomic and "glc" in features)):
        returned = registers(TARGET if kind.startswith("load") else DATA, count, "v")
    form = Form("mubuf", name, tuple(sorted(features)))
    return trial(form, text, isa, vectors, mask | moved, returned, (*before, *set_exec), lds=lds)


def _stored_before(
    kind: str, size: int, features: Features, vectors: dict[str, Words], offset: int, isa: IsaName
) -> tuple[str, ...]:
    """Fill the vectors of an atomic; instructions that store what memory holds where it goes."""
    more, stored = atomic_operands(kind, size, same="same_address" in features)
    vectors |= more
    goal = vectors.get(f"v{OFFSET}", np.full((ROUNDS, 1, 64), 0, np.uint32)).astype(np.int64)
    if "idxen" in features:
        goal = goal * _STRIDE
    elif "soffset" in features:
        goal = goal + (ROUND * REGION + BEGIN)[:, :, None] + 8 * LANE
    goal = (goal + offset) % MEMORY_BYTES
    vectors[f"v{OFFSET + 1}"] = goal.astype(np.uint32)
    return (*addresses(isa, OFFSET + 1), *stored)


def _formatted(encoding: Encoding, name: str, features: Features, isa: IsaName) -> Case:
    """Whole numbers of 32 bits, or of 16 bits, two in a register, for D16."""
    components = name.rpartition("_")[2]
    small = "d16" in name
    count = len(components)
    scalars, set_exec = masked(features)
    format_ = {"x": 2, "xy": 5, "xyz": 12, "xyzw": 12}[components] if small else _FORMATS[components]
    kept = (count + 1) // 2 if small else count
    vectors = {f"v{OFFSET}": places("strided", 16)}
    loads = "load" in name
    if not loads:
        vectors[f"v{DATA}"] = data(name, kept)
    value = registers(TARGET if loads else DATA, kept, "v")
    before = (*_descriptor(("stride",), isa)[:2], f"s_mov_b32 s27, {0xFAC | 4 << 12 | format_ << 15:#x}")
    text = f"{name} {value}, v{OFFSET}, s[24:27], 0 offen"
    if encoding == "mtbuf":
        text = f"{name} {value}, v{OFFSET}, s[24:27], 0 format:{format_ | 4 << 4} offen"
    form, returned = Form(encoding, name, features), value if loads else ""
    return trial(form, text, isa, vectors, scalars, returned, (*before, *set_exec))
