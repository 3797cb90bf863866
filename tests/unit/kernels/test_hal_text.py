"""HAL text of IREE: launches, bindings, constants and fills of a function, and what is refused of it."""

from __future__ import annotations

import pytest
from places import DATA

from apuflow.core.errors import ConfigError
from apuflow.kernels.hal import HalFunction, Shape
from apuflow.kernels.hal_text import read_function

TEXT = (DATA / "iree/launch.hal.mlir").read_text(encoding="utf-8")
"""A launch of a memoized command buffer, as IREE 3.13 writes it, cut to what matters."""


def read(old: str = "", new: str = "", entry: str = "") -> HalFunction:
    assert old in TEXT
    return read_function(TEXT.replace(old, new), entry)


def test_a_launch() -> None:
    function = read()
    (launch,) = function.launches
    assert (launch.kernel, launch.workgroups, launch.constants) == (
        "k$1",
        (2, 1, 1),
        (7,),
    )
    places = [(each.memory.kind, each.memory.size, each.offset) for each in launch.bindings]
    assert places == [("input", 24, 8), ("constant", 20, 0), ("transient", 64, 0)]
    assert function.inputs == (Shape((2, 3), "f32"),) and str(function.inputs[0]) == "2x3xf32"
    (result,) = function.results
    assert result.region.memory is launch.bindings[2].memory and result.region.offset == 16
    assert result.shape.elements == 4


def test_constants_and_fills_are_bytes() -> None:
    """1.0 and 2.0 in 32 bits, padding, 3.0 twice in 16 bits (0x4200); the word 7."""
    bindings = read().launches[0].bindings
    assert bindings[1].memory.data == bytes.fromhex("0000803f00000040") + bytes(8) + bytes.fromhex("00420042")
    assert bindings[2].memory.data == bytes([7, 0, 0, 0]) * 16


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dispatch<%cmd", "dispatch.indirect<%cmd", r"hal\.command_buffer\.dispatch\.indirect"),
        ("constants([%c7_i32])", "constants([%n])", "push constants that are not static"),
        ("workgroups([%c2,", "workgroups([%n,", "numbers of workgroups that are not static"),
        (
            "    %buffer = hal.",
            "    %n = hal.buffer_view.dim<%arg0 : !hal.buffer_view>[0] : index\n    %buffer = hal.",
            "dynamic shapes",
        ),
        ("    %buffer = hal.", "    hal.magic<%arg0>\n    %buffer = hal.", r"has hal\.magic: it is not read"),
        ("    %view = ", "  ^bb1:  // pred: ^bb0\n    %view = ", "branches"),
        (
            "target(%c1 : index)",
            "target(%c0 : index)",
            r"hal\.command_buffer\.fill_buffer: the launcher starts",
        ),
        ("dense<3.0> : tensor<2xf16>", "dense_resource<x> : tensor<2xf16>", "not all in the text"),
        ("%arg0: !hal.buffer_view)", "%arg0: !hal.buffer_view, %arg1: i32)", "an argument of type i32"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read(old, new)
    assert caught.value.key == "source" and caught.value.remedy


def test_which_function() -> None:
    with pytest.raises(ConfigError, match=r"no such function[\s\S]*one of f"):
        read(entry="g")
    with pytest.raises(ConfigError, match="no public function"):
        read("util.func public @f", "util.func private @f")
