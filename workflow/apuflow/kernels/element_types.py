"""Types of a buffer's elements: how they are stored, as which numbers they count, how exact they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array: TypeAlias = NDArray[np.generic]

ElementType: TypeAlias = Literal[
    "float", "double", "half", "bfloat16", "int", "uint", "long", "ulong", "short", "ushort", "char", "uchar"
]
ELEMENT_TYPES: Final[tuple[ElementType, ...]] = get_args(ElementType)
NUMPY_TYPES: Final[Mapping[ElementType, str]] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "float32",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "short": "int16",
    "ushort": "uint16",
    "char": "int8",
    "uchar": "uint8",
}
"""OpenCL's name of an element (bfloat16: LLVM's), and NumPy's of the numbers that a reference sees."""
_STORED: Final[Mapping[ElementType, str]] = {**NUMPY_TYPES, "bfloat16": "uint16"}
ELEMENT_BYTES: Final[Mapping[ElementType, int]] = {
    name: int("".join(filter(str.isdigit, numpy))) // 8 for name, numpy in _STORED.items()
}
TRITON_TYPES: Final[Mapping[ElementType, str]] = {
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "bfloat16": "bf16",
    "int": "i32",
    "uint": "u32",
    "long": "i64",
    "ulong": "u64",
    "short": "i16",
    "ushort": "u16",
    "char": "i8",
    "uchar": "u8",
}
"""Triton's names, as its signatures have them."""
_BF16_NAN: Final = 0x7FC0


def stored(values: ArrayLike, kind: ElementType) -> Array:
    """Numbers as they lie in memory: rounded to the nearest, ties to even; bfloat16 as 16-bit words."""
    import numpy as np

    if kind != "bfloat16":
        return np.asarray(values).astype(_STORED[kind])
    given = np.asarray(values).astype(np.float32)
    words = np.ascontiguousarray(given).view(np.uint32).astype(np.uint64)
    rounded = (words + 0x7FFF + (words >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(given), np.uint16(_BF16_NAN), rounded.astype(np.uint16))


def numbers(raw: Array, kind: ElementType) -> Array:
    """What memory holds, as numbers of ``NUMPY_TYPES``.

    Args:
        raw: any array over the bytes of whole elements.
    """
    import numpy as np

    words = raw.view(_STORED[kind])
    if kind != "bfloat16":
        return words
    wide: NDArray[np.uint32] = words.astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32)


def rounded(values: Any, kind: ElementType) -> Array:
    """The numbers that memory of this type can hold, nearest to ``values``."""
    return numbers(stored(values, kind), kind)
