"""Atomic operations on memory and LDS.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 12.12, 12.15 and 12.16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.state import Lds, Memory


class Operation(NamedTuple):
    """One atomic operation: NumPy's type in memory, operands (2: with a value to compare), new value."""

    kind: Any
    operands: int
    compute: Callable[..., Array]

    @property
    def size(self) -> int:
        """Bytes."""
        return np.dtype(self.kind).itemsize


def _add_bf16(old: Array, new: Array) -> Array:
    """Two numbers of 16 bits each, rounded to the nearest even one."""
    parts = [
        (each.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32) for each in (old, new)
    ]
    total = parts[0] + parts[1]
    bits = total.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    rounded = np.where(np.isnan(total), bits | np.uint32(0x400000), rounded)
    return (rounded >> np.uint32(16)).astype(np.uint16).view(np.uint32)


_COMPUTE: Final[dict[str, tuple[str, Callable[..., Array]]]] = {
    "swap": ("u", lambda _old, new: new),
    "wrxchg": ("u", lambda _old, new: new),
    "add": ("u", lambda old, new: old + new),
    "sub": ("u", lambda old, new: old - new),
    "rsub": ("u", lambda old, new: new - old),
    "smin": ("i", np.minimum),
    "umin": ("u", np.minimum),
    "smax": ("i", np.maximum),
    "umax": ("u", np.maximum),
    "min_i": ("i", np.minimum),
    "min_u": ("u", np.minimum),
    "max_i": ("i", np.maximum),
    "max_u": ("u", np.maximum),
    "and": ("u", lambda old, new: old & new),
    "or": ("u", lambda old, new: old | new),
    "xor": ("u", lambda old, new: old ^ new),
    "inc": ("u", lambda old, new: np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1))),
    "dec": ("u", lambda old, new: np.where((old == 0) | (old > new), new, old - old.dtype.type(1))),
    "min_f": ("f", np.fmin),
    "max_f": ("f", np.fmax),
    "add_f": ("f", lambda old, new: old + new),
    "pk_add_f16": ("u", lambda old, new: (old.view(np.float16) + new.view(np.float16)).view(np.uint32)),
    "pk_add_bf16": ("u", _add_bf16),
}
_WIDE: Final = {"u": (np.uint32, np.uint64), "i": (np.int32, np.int64), "f": (np.float32, np.float64)}


_PAIRS: Final[dict[str, Callable[..., Array]]] = {
    "mskor": lambda old, clear, set_: old & ~clear | set_,
    "wrap": lambda old, limit, else_: np.where(old >= limit, old - limit, old + else_),
}
"""Operations of LDS with two operands."""


def _if_equal(old: Array, wanted: Array, new: Array) -> Array:
    return np.where(old == wanted, new, old)


def operation(word: str, *, lds: bool = False) -> Operation | None:
    """Of the end of an instruction's name, as ``add``, ``smax_x2``, of DS ``min_i32``; None: unknown."""
    wide = word.endswith(("_x2", "64"))
    plain = word.removesuffix("_x2")
    letter = ""
    if plain[-2:] in ("32", "64"):
        letter = plain[-3]
        base = plain[:-4]
        plain = f"{base}_{letter}" if f"{base}_{letter}" in _COMPUTE else base
        if letter == "f" and plain != f"{base}_f" and base != "cmpst":
            return None
    if plain in _PAIRS:
        return Operation(_WIDE["u"][wide], 2, _PAIRS[plain])
    if plain in ("cmpswap", "cmpst"):
        kind = _WIDE["f" if lds and letter == "f" else "u"][wide]
        if lds:  # the first operand is compared, the second stored
            return Operation(kind, 2, _if_equal)
        return Operation(kind, 2, lambda old, new, wanted: _if_equal(old, wanted, new))
    known = _COMPUTE.get(plain)
    if known is None:
        return None
    return Operation(_WIDE[known[0]][wide], 1, known[1])


def atomic(store: Memory | Lds, places: Any, known: Operation, values: list[Array]) -> list[Array]:
    """Change memory, lane after lane where several name one place; the old values as words of 32 bits."""
    kind = np.dtype(known.kind)
    whole = store.bytes[: len(store.bytes) // kind.itemsize * kind.itemsize].view(kind)
    index = places // kind.itemsize
    words = kind.itemsize // 4
    operands = [
        _joined(values[number * words : (number + 1) * words], kind) for number in range(known.operands)
    ]
    old = np.zeros(len(index), kind)
    left = np.arange(len(index))
    while len(left):
        _, first = np.unique(index[left], return_index=True)
        now = left[first]
        old[now] = whole[index[now]]
        whole[index[now]] = known.compute(old[now], *(each[now] for each in operands)).astype(kind)
        left = np.delete(left, first)
    raw = old.view(np.uint32).reshape(-1, words)
    return [raw[:, number] for number in range(words)]


def _joined(values: list[Array], kind: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(np.stack(values, -1)).view(kind)[..., 0]
