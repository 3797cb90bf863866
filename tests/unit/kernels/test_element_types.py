"""16-bit floating-point numbers in memory."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from own_programs import program

from apuflow.kernels.element_types import NUMPY_TYPES, ElementType, numbers, rounded, stored
from apuflow.kernels.program import Fill, Output, OwnBuffer, guest_contents, initial_value
from apuflow.kernels.reference import tolerance


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1.0, 0x3F80),
        (-2.0, 0xC000),
        (1 + 2**-8, 0x3F80),  # a tie: to the even one of 1 and 1 + 2**-7
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-20, 0x3F81),
        (3.4e38, 0x7F80),  # above the largest, 3.39e38: infinity
        (float("-inf"), 0xFF80),
        (float("nan"), 0x7FC0),
        (1e-40, 0x0001),  # a subnormal number: one unit is 9.2e-41
    ],
)
def test_bfloat16_is_the_upper_half_of_float_rounded_to_even(number: float, word: int) -> None:
    """Brain floating point: 1 bit of sign, 8 of exponent, 7 of fraction (Intel, 2018)."""
    found = stored([number], "bfloat16")
    assert found.dtype == np.uint16 and int(found[0]) == word
    (back,) = struct.unpack("<f", struct.pack("<I", word << 16))
    np.testing.assert_array_equal(numbers(found, "bfloat16"), [np.float32(back)])


def test_every_bfloat16_stays_what_it_is() -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    values = numbers(words, "bfloat16")
    same = stored(values, "bfloat16") == words
    assert same[~np.isnan(values)].all()


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_uniform_contents_of_16_bits_are_in_0_to_1(kind: ElementType) -> None:
    buffer = OwnBuffer("x", kind, 1001, Fill("uniform", (3,)))
    values = initial_value(buffer)
    assert values.dtype == NUMPY_TYPES[kind] and values.size == 1001 and buffer.size == 2004
    assert values.min() >= 0 and values.max() <= 1 and 0.45 < values.mean() < 0.55
    assert guest_contents(buffer, 64).kind == "file"
    np.testing.assert_array_equal(values, rounded(values, kind))


def test_contents_of_bfloat16(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<3H", 0x3F80, 0xC000, 0x7F80))
    filed = OwnBuffer("x", "bfloat16", 3, Fill("file", (), tmp_path / "x.bin"))
    assert initial_value(filed).tolist() == [1, -2, float("inf")]
    assert initial_value(OwnBuffer("x", "bfloat16", 3, Fill("values", (1.001, 3)))).tolist() == [1, 3, 0]
    constant = OwnBuffer("x", "bfloat16", 3, Fill("constant", (1.5,)))
    assert guest_contents(constant, 0).parameters == (0x3FC03FC0,)
    assert initial_value(constant).tolist() == [1.5] * 3


@pytest.mark.parametrize(
    ("kind", "allowed"), [("half", 2**-9), ("bfloat16", 2**-6), ("float", 1e-4), ("int", 0)]
)
def test_tolerances_follow_the_type(kind: ElementType, allowed: float) -> None:
    """16 bits: two units in the last place of the largest element (fractions of 10 and 7 bits)."""
    assert tolerance(program(), Output("x", kind, 1)) == allowed
    assert tolerance(program(tolerance=0.5), Output("x", kind, 1)) == 0.5
