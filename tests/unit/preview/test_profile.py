"""Blocks, lines and pages of a kernel."""

from __future__ import annotations

import pytest

from apuflow.preview.instructions import block
from apuflow.preview.lines import lines_of, pages_of, span_lines


def test_a_block_counts_what_it_says() -> None:
    total = block("v11 ld1 s2 wt1 br1", 40) * 3
    assert (total.valu, total.loads, total.salu, total.waits, total.branches) == (33, 3, 6, 3, 3)
    assert total.lanes == 33 * 40
    assert total.instructions == 48
    assert total.scalar_issues == 12


def test_a_misspelt_block_is_refused() -> None:
    with pytest.raises(ValueError, match="vv3"):
        block("vv3")


def test_lines_and_pages_of_packed_floats() -> None:
    assert (lines_of(16), lines_of(17)) == (1, 2)
    assert (pages_of(1024), pages_of(1025)) == (1, 2)


def test_lines_under_spans() -> None:
    # 256 aligned bytes are 4 lines; rows of 4000 bytes start at offset 0 or 32: 4 or 5 lines.
    assert span_lines(256, 256) == 4
    assert span_lines(256, 4000) == 4.5
    assert span_lines(4, 4) == 1
