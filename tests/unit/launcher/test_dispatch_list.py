"""Dispatch lists as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apuflow.core.errors import ConfigError
from apuflow.launcher.dispatch_list import (
    Argument,
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    guest_path,
)


@pytest.mark.parametrize(
    ("kind", "value", "line"),
    [
        ("int", -1, "arg u32 0xffffffff"),
        ("uint", 4_000_000_000, "arg u32 0xee6b2800"),
        ("float", 1.0, "arg u32 0x3f800000"),
        ("float", -0.0, "arg u32 0x80000000"),
        ("double", 1e-5, "arg u64 0x3ee4f8b588e368f1"),
        ("long", -2, "arg u64 0xfffffffffffffffe"),
        ("uchar", 255, "arg u8 0xff"),
    ],
)
def test_scalars_are_written_as_bits(kind: str, value: float, line: str) -> None:
    assert Argument(kind, value).line() == line


@pytest.mark.parametrize(("kind", "value"), [("int", 2**31), ("uint", -1), ("uchar", 256), ("float", 1e39)])
def test_values_outside_their_type(kind: str, value: float) -> None:
    with pytest.raises(ConfigError, match="does not fit its type"):
        Argument(kind, value).line()


def test_unknown_type() -> None:
    with pytest.raises(ConfigError, match="unknown type"):
        Argument("complex", 1).line()


def test_paths_that_gem5_would_redirect() -> None:
    """apu_se.py maps /tmp, /sys and /proc, by the text of the path, into its output directory."""
    assert guest_path("/tmp/run/list") == "//tmp/run/list"
    assert guest_path("/home/me/list") == "/home/me/list"
    assert guest_path("out/b0.bin") == "out/b0.bin"
    with pytest.raises(ConfigError, match="white space"):
        guest_path("/home/my project/list")


def test_objects_are_listed_once() -> None:
    first, second = Path("/o/a.o"), Path("/o/b.o")
    kernels = [
        Dispatch(path, "k", (64, 2, 1), (64, 1, 1), (Argument("buffer", "x", 8),))
        for path in (first, second, first)
    ]
    text = DispatchList(
        "gfx803",
        (Buffer("x", 16, Contents("file", (4096,))),),
        (*kernels, Dump("x", Path("/o/x"))),
        data=Path("/o/m"),
    ).text()
    assert text.splitlines() == [
        "apuflow-dispatch-list 1",
        "device gfx803",
        "wait event",
        "statistics run",
        "data /o/m",
        "object /o/a.o",
        "object /o/b.o",
        "buffer x 16 file 4096",
        "dispatch 0 k 64 2 1 64 1 1 1",
        "arg buffer x 8",
        "dispatch 1 k 64 2 1 64 1 1 1",
        "arg buffer x 8",
        "dispatch 0 k 64 2 1 64 1 1 1",
        "arg buffer x 8",
        "dump x /o/x",
        "end",
    ]


def test_contents_beyond_the_data_file() -> None:
    with pytest.raises(ConfigError, match="too small"):
        Contents("file", (8,)).values(16, np.zeros(20, np.uint8))
