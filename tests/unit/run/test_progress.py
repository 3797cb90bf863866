"""Progress of a run, from what gem5 prints."""

from __future__ import annotations

from apuflow.run.status import guest_ticks


def test_ticks_are_read_from_the_guests_clock() -> None:
    """Guests start at second 1,000,000,000 of the Unix clock, 2001-09-09 01:46:40; ticks are picoseconds."""
    text = b"I0909 01:46:40.005068   100 a.cc:1] x\nnoise\nI0909 01:47:41.000001   100 b.cc:2] y\n"
    assert guest_ticks(text) == 61_000_001_000_000
    assert guest_ticks(b"nothing") is None
    assert guest_ticks(b"I0000 01:46:40.005068   100 a.cc:1] broken date\n") is None
