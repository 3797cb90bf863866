"""Compilers of kernels, and the objects that they leave."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apuflow.miopen.compiler import image_compiler
from apuflow.miopen.elf import BrokenObject, read_code_object


@given(st.integers(0, 4000), st.integers(0, 255))
@settings(max_examples=200)
def test_any_damage_is_refused_or_harmless(whole: bytes, position: int, value: int) -> None:
    data = bytearray(whole)
    data[position % len(data)] = value
    with contextlib.suppress(BrokenObject):
        read_code_object(bytes(data))
    with pytest.raises(BrokenObject):
        read_code_object(whole[: position % len(whole)])


def test_the_image_runs_clang_ocl_as_upstream_does() -> None:
    command = image_compiler("sha256:1").command_line(["-DX=1"], "gfx801", Path("/k/a.cl"), Path("/o/a.o"))
    assert command == [
        *("/opt/rocm/bin/clang-ocl", "-DX=1", "-mcpu=gfx801", "-Wno-everything"),
        *("-Xclang", "-target-feature", "-Xclang", "+code-object-v3", "/k/a.cl", "-o", "/o/a.o"),
    ]
