"""Tables on a terminal of 80 columns."""

from __future__ import annotations

from apuflow.study.terminal import Entry, stacked


def test_long_texts_have_lines_of_their_own() -> None:
    entries = [
        Entry("gem5/softmax_fwd/u4-0123abcd", ("completed", "100"), style="green"),
        Entry("gem5/softmax_fwd/u8-0123abcd", ("deadlock", "7"), "no [bold] text\nsecond"),
    ]
    assert stacked(("state", "stall_share"), entries, left=1).plain.splitlines() == [
        "             stall",
        "  state      share",
        "gem5/softmax_fwd/u4-0123abcd",
        "  completed    100",
        "gem5/softmax_fwd/u8-0123abcd",
        "  deadlock       7",
        "    no [bold] text",
        "    second",
    ]
