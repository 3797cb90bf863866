"""Tables on a terminal of 80 columns."""

from __future__ import annotations

from apuflow.core.terminal import Entry, blocks, interval, stacked


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


def test_a_wide_table_goes_on_below_and_no_cell_is_cut() -> None:
    names = ("compute_units", "gpu_cycles", "interval of cycles", "bound")
    rows = [
        ("4", "18,037,786", "4.2e+06 to 7.9e+07", "lds"),
        ("16", "11,376,748", "2.7e+06 to 4.8e+07", "dram"),
    ]

    def lines(width: int, keys: int = 1) -> list[str]:
        return [line.rstrip() for line in blocks(names, rows, keys, width).plain.splitlines()]

    assert lines(80) == [
        "  compute_units  gpu_cycles  interval of cycles  bound",
        "              4  18,037,786  4.2e+06 to 7.9e+07    lds",
        "             16  11,376,748  2.7e+06 to 4.8e+07   dram",
    ]
    assert lines(45) == [
        "  compute",
        "    units  gpu_cycles  interval of cycles",
        "        4  18,037,786  4.2e+06 to 7.9e+07",
        "       16  11,376,748  2.7e+06 to 4.8e+07",
        "",
        "  compute",
        "    units  bound",
        "        4    lds",
        "       16   dram",
    ]
    assert lines(30, keys=3)[:5] == [
        "       compute",
        "  row    units  gpu_cycles",
        "    1        4  18,037,786",
        "    2       16  11,376,748",
        "",
    ]


def test_an_interval_has_three_digits_with_thousands_apart() -> None:
    row = {"gpu_cycles_low": 92_213.4, "gpu_cycles_high": 1_637_801.0, "flags": ""}
    assert interval(row) == "92,200 to 1,640,000"
    assert interval(row | {"gpu_cycles_low": 92.25, "flags": "unmeasured: n"}) == "92.2 to 1,640,000 (guess)"
    assert interval(row | {"gpu_cycles_low": float("nan")}) == "-"
