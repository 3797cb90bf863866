"""Trials of SCRATCH instructions, of kernels with private memory.

Private memory is filled, and read back, word by word with a scalar address: a form is wrong as well where
these accesses are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from apuflow.conformance.case import PRIVATE_BYTES, PROCESSORS, ROUNDS, Case
from apuflow.conformance.inputs import flags, generator, registers
from apuflow.conformance.memory import WAIT, masked
from apuflow.conformance.places import Features, data, size_of
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import IsaName, opcodes

_WORDS: Final = PRIVATE_BYTES // 4
_OFFSET, _DATA, _TARGET, _HELD, _READ = 2, 8, 20, 40, 60
"""Vector registers: bytes from the begin, data, result, private memory before and after."""
_SCALAR: Final = 60
_WAYS: Final[tuple[Features, ...]] = (
    *((), ("some_lanes",), ("saddr",), ("offset",), ("offset", "saddr"), ("random_places",)),
    *(("one_lane",), ("no_lane",), ("glc",), ("slc",)),
)


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the loads and stores of private memory; GCN3 has none."""
    for (encoding, _), name in sorted(opcodes(isa).items()):
        if encoding == "scratch":
            yield from (_case(name, features, isa) for features in _WAYS)


def _words(kind: str, first: int) -> tuple[str, ...]:
    """Load or store all private memory, a word at a time."""
    registers_ = (f"v{first + word}" for word in range(_WORDS))
    places = ("off, {}" if kind == "store" else "{}, off").format
    return tuple(
        f"scratch_{kind}_dword {places(register)}, s{_SCALAR} offset:{4 * word}"
        for word, register in enumerate(registers_)
    )


def _case(name: str, features: Features, isa: IsaName) -> Case:
    kind = name.partition("_")[2]
    size = size_of(kind)
    count, step = max(1, size // 4), max(4, size)
    scalars, set_exec = masked(features)
    random = generator(name, *features)
    offset = 16 if "offset" in features else 0
    steps = (PRIVATE_BYTES - offset - 4 * count) // step
    shape = (ROUNDS, 1, 64) if "random_places" in features else (ROUNDS, 1, 1)
    chosen = random.integers(0, steps + 1, shape) * step
    if size < 4:
        chosen = chosen + random.integers(0, 4 // size, shape) * size
    where = np.broadcast_to(chosen, (ROUNDS, 1, 64)).astype(np.uint32)
    vectors = {f"v{_HELD}": random.integers(0, 1 << 32, (ROUNDS, _WORDS, 64), np.uint64).astype(np.uint32)}
    address = base = "off"
    if "saddr" in features:
        base = f"s{_SCALAR + 1}"
        scalars = {**scalars, base: where[:, :, 0]}
    else:
        address = f"v{_OFFSET}"
        vectors[address] = where
    if "store" in kind:
        vectors[f"v{_DATA}"] = data(kind, count)
        text = f"{name} {address}, {registers(_DATA, count, 'v')}, {base}"
        after, result = ("s_mov_b64 exec, -1", *_words("load", _READ), WAIT), registers(_READ, _WORDS, "v")
    else:
        result = registers(_TARGET, count, "v")
        text, after = f"{name} {result}, {address}, {base}", ()
    text += (f" offset:{offset}" if offset else "") + flags(features, "glc", "slc")
    before = (f"s_mov_b32 s{_SCALAR}, 0", *_words("store", _HELD), WAIT, *set_exec)
    form = Form("scratch", name, features)
    return Case(
        form, text, PROCESSORS[isa], vectors, scalars, (result,), before, (WAIT, *after), private=True
    )
