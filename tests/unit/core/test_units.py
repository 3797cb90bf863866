"""Sizes, clocks and durations, read and written."""

from __future__ import annotations

import pytest

from apuflow.core import units


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.5, "0.5 s"),
        (45, "45 s"),
        (90, "1.5 min"),
        (600, "10 min"),
        (7200, "2.0 h"),
        (86400, "24 h"),
        (216000, "2.5 d"),
    ],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


def test_durations_are_read() -> None:
    assert [units.duration_seconds(text) for text in ("90s", "1.5m", "12h", "7d")] == [90, 90, 43200, 604800]


def test_memory_has_the_gb_of_gem5s_sizes() -> None:
    assert units.size_bytes("16GB") == 16 * 2**30 == 17179869184
    assert (units.format_memory(17179869184), units.format_memory(1610612736)) == ("16.0 GB", "1.50 GB")


def test_clocks_are_read_as_gem5_reads_them() -> None:
    assert units.clock_hertz("1.5GHz") == 1.5e9
    assert units.clock_hertz("500MHz") == 5e8
    assert units.clock_hertz("2ns") == pytest.approx(5e8)
    assert [units.clock_hertz(text) for text in ("0Hz", "1", "fast", "-1GHz", "1 B")] == [None] * 5


def test_sizes_are_read_as_gem5_reads_them() -> None:
    """gem5's toMemorySize: k, M and G are powers of 1024, and K needs an i (m5/util/convert.py)."""
    assert units.size_bytes("16kB") == units.size_bytes("16KiB") == 16384
    assert units.size_bytes("2GB") == 2 * 1024**3
    assert units.size_bytes("16KB") is None
    assert units.size_bytes("1.5MB") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("0B", 0), ("1KiB", 1024), ("1536B", 1536), ("3MiB", 3 << 20), ("2TB", 2 << 40), ("16", None)],
)
def test_sizes_have_all_of_gem5s_prefixes(text: str, size: int | None) -> None:
    assert units.size_bytes(text) == size


@pytest.mark.parametrize(
    ("size", "text"), [(1024, "1kB"), (1536, "1536B"), (3 << 20, "3MB"), (1 << 40, "1024GB"), (1000, "1000B")]
)
def test_sizes_are_written_exactly_and_short(size: int, text: str) -> None:
    assert units.format_size(size) == text
    assert units.size_bytes(text) == size


@pytest.mark.parametrize(
    ("hertz", "text"),
    [(1e9, "1GHz"), (1.5e9, "1.5GHz"), (9.99e8, "999MHz"), (32768, "32.768kHz"), (50, "50Hz")],
)
def test_clocks_are_written_as_people_write_them(hertz: float, text: str) -> None:
    assert units.format_clock(hertz) == text
    assert units.clock_hertz(text) == hertz


def test_voltages() -> None:
    assert [units.volts(text) is not None for text in ("1.0V", "900mV", "1", "1.0W", "-1V")] == [
        True, True, False, False, False,
    ]  # fmt: skip
