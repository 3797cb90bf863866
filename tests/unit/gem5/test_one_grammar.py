"""The proof of a run and the readers of its statistics agree on what a row and what a block is.

What gem5 writes is read off src/base/stats/text.cc: ``std::fixed`` numbers (no exponent, no plus sign),
``%12s`` cells, marks that are whole lines. The block below is printed by ``gem5_text``, after that source.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from gem5_text import BEGIN, END, Printer, one_after_another

from apuflow.gem5.stats.reader import Stats, read_stats
from apuflow.run.proof import StatisticsProof, read_proof

ROW = f"{'a.row':<40} {7:>12} {'':>10} {'':>10} # A row (Count)\n"


def _block() -> str:
    printer = Printer()
    printer.row("simTicks", 1000, "Number of ticks simulated", "Tick")
    printer.row("finalTick", 1000, "Number of ticks from beginning of simulation", "Tick")
    printer.row("a.row", 7, "A row", "Count")
    printer.vector("a.vector", ["first", "second"], [3, 1], "A vector", "Count")
    return printer.block()


def _both(directory: Path, text: str) -> tuple[StatisticsProof, Stats]:
    file = directory / "stats.txt"
    file.write_text(text)
    return read_proof(file), read_stats(file)


@pytest.mark.parametrize(
    "number", ["1e3", "+7", "7.", ".5", "0x10", "1_000", "infinity", "NaN", "--1", "7,5", "<b>7</b>"]
)
def test_a_number_that_gem5_does_not_write_is_no_row(tmp_path: Path, number: str) -> None:
    text = _block().replace(ROW, ROW.replace(f"{7:>12}", f"{number:>12}"))
    proof, stats = _both(tmp_path, text)
    assert f"line 5: '{ROW[:20]}" in (proof.problem or "") and "no number" in (proof.problem or "")
    assert "a.row" not in stats[0].numbers
    assert [fault.line for fault in stats[0].faults] == [5 - 2]  # the begin mark is line 2 of the file


@pytest.mark.parametrize(
    "row",
    [
        ROW.replace(" " * 20 + "7", " " * 19 + "7"),
        ROW.replace("a.row ", "a.row\t"),
        " " + ROW,
        ROW.replace("a.row", "a.\0ow"),
    ],
    ids=["a column to the left", "tab", "a column to the right", "byte of zero"],
)
def test_a_row_that_is_not_in_its_columns_is_a_fault(tmp_path: Path, row: str) -> None:
    proof, stats = _both(tmp_path, _block().replace(ROW, row))
    assert "stats.txt, line 5: " in (proof.problem or "")
    assert [fault.line for fault in stats[0].faults] == [3]
    assert stats[0].numbers["simTicks"] == 1000


@pytest.mark.parametrize("number", [123456789012, 1234567890123456])
def test_numbers_wider_than_their_columns_are_rows(tmp_path: Path, number: int) -> None:
    """``%12s`` is a least width; of a cell nothing then stands between ``|`` and the number."""
    printer = Printer()
    printer.row("finalTick", 1000)
    printer.row("a.row", number)
    printer.oneline("a.cells", [number, 0])
    printer.row("a.cells::total", number)
    proof, stats = _both(tmp_path, printer.block())
    assert proof.problem is None
    assert stats[0].numbers["a.row"] == number
    assert stats[0].cell_values(stats[0].names.index("a.cells")) == [number, 0]
    assert stats[0].faults == ()


@pytest.mark.parametrize(
    ("text", "line", "dumps"),
    [
        (_block().replace(BEGIN, f"\nx{BEGIN[1:]}"), 2, 0),
        (_block()[:-1], 0, 0),
        (_block().replace("\n", "\r\n"), 1, 0),
        (_block().replace(END, "") + _block(), 10, 1),
        (_block() + END, 12, 1),
        ("warn: something\n" + _block(), 1, 1),
        (_block() + _block()[:300], 0, 1),
    ],
    ids=["mark in a line", "no last newline", "CRLF", "cut in the middle", "end twice", "text before", "cut"],
)
def test_a_block_lies_between_two_marks_that_are_lines(
    tmp_path: Path, text: str, line: int, dumps: int
) -> None:
    (tmp_path / "stats.txt").write_bytes(text.encode())
    proof, stats = read_proof(tmp_path / "stats.txt"), read_stats(tmp_path / "stats.txt")
    assert proof.problem is not None
    assert f"line {line}: " in proof.problem if line else "is cut in block" in proof.problem
    assert len(stats) == dumps


def test_an_archive_of_several_frames_is_one_text(tmp_path: Path) -> None:
    """zstd: the frames of a file follow each other, as ``pzstd`` and ``cat`` write them."""
    text = one_after_another(_block().encode(), _block().encode())
    file = tmp_path / "stats.txt.zst"
    file.write_bytes(b"".join(zstandard.compress(part) for part in (text[:500], text[500:])))
    assert (read_proof(file).problem, read_proof(file).blocks, len(read_stats(file))) == (None, 2, 2)


@pytest.mark.parametrize("size", ["0", "nan", "-1"])
def test_a_distribution_whose_buckets_have_no_size_is_damage(tmp_path: Path, size: str) -> None:
    printer = Printer()
    printer.row("finalTick", 1000)
    printer.distribution("a.lat", 100, 50, [0, 4], 151.0, "Delay", oneline=True)
    bucket = f"{'a.lat::bucket_size':<40} {{:>12}}"
    text = printer.block().replace(bucket.format(50), bucket.format(size))
    proof, _ = _both(tmp_path, text)
    assert "a.lat, before it, has 2 buckets" in (proof.problem or "")


@pytest.mark.parametrize(("printed", "whole"), [("0", False), ("0.000000", True)])
def test_a_fraction_that_rounds_to_0_is_not_the_0_that_gem5_leaves_out(
    tmp_path: Path, printed: str, whole: bool
) -> None:
    """``ScalarPrint`` leaves a row with ``nozero`` out if its value is 0, and prints 1e-9 as 0.000000."""
    printer = Printer()
    printer.row("finalTick", 1000)
    printer.row("system.ruby.cp_cntrl0.queue.m_buf_msgs", 8)
    printer.row("system.ruby.cp_cntrl1.queue.m_stall_count", 1)
    text = printer.block().replace(f"{8:>12}", f"{printed:>12}")
    proof, stats = _both(tmp_path, text)
    assert (proof.problem is None) is whole
    assert stats[0].numbers["system.ruby.cp_cntrl0.queue.m_buf_msgs"] == 0
