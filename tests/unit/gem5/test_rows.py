"""Statistics written at random by gem5's printing rules are read back; damaged ones never end in a crash."""

from __future__ import annotations

import lzma
import math
import re
from pathlib import Path

from gem5_text import Printer, number
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import STATS

from apuflow.gem5.stats.reader import frame_of, read_stats
from apuflow.gem5.stats.rows import parse_block

REAL = STATS / "softmax_fwd-100x1000x1x1-u1.txt.xz"

names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,20}(\.[a-zA-Z][a-zA-Z0-9_]{0,20}){0,4}", fullmatch=True)
values = st.one_of(
    st.integers(-(10**6), 10**16).map(float),
    st.floats(-1e9, 1e9, allow_nan=False),
    st.sampled_from([math.nan, math.inf, 0.0]),
)
counts = st.lists(st.integers(0, 10**6), min_size=2, max_size=12)
texts = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="#|"), max_size=40).map(
    lambda text: re.sub(r"[()%]", "", text).strip()
)
units = st.sampled_from(["", "Tick", "Count", "(Byte/Second)", "((Count/Cycle))", "Unspecified"])
kinds = st.sampled_from(["scalar", "vector", "oneline", "distribution", "oneline distribution"])
statements = st.lists(
    st.tuples(names, kinds, values, counts, texts, units), max_size=12, unique_by=lambda s: s[0]
)
layouts = st.tuples(st.booleans(), st.booleans())


def _same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@settings(max_examples=150, deadline=None)
@given(statements, layouts)
def test_what_is_written_is_read(
    written: list[tuple[str, str, float, list[int], str, str]], layout: tuple[bool, bool]
) -> None:
    printer = Printer(*layout)
    for name, kind, value, cells, text, unit in written:
        if kind == "scalar":
            printer.row(name, value, text, unit)
        elif kind == "vector":
            printer.vector(name, [f"s{index}" for index in range(len(cells))], cells, text, unit)
        elif kind == "oneline":
            printer.oneline(name, cells, text, unit)
        else:
            printer.distribution(name, 0, 3, cells, 1.5, text, oneline=kind.startswith("oneline"))
    block = "\n" + "".join(f"{line}\n" for line in printer.lines)
    dump = parse_block(block.encode())
    assert dump.faults == () or not layout[0]
    assert list(dict.fromkeys(name.partition("::")[0] for name in dump.names)) == [
        name for name, *_ in written
    ]
    frame = frame_of(dump)
    for name, kind, value, cells, text, unit in written:
        found = frame[frame["name"] == name].set_index("sub")
        numbers = found["value"]
        if kind == "scalar":
            assert _same(numbers[""], float(number(value)))
        elif kind in ("vector", "oneline"):
            assert list(numbers)[: len(cells)] == cells
            assert numbers.get("total") == (sum(cells) if kind == "vector" else None)
        else:
            assert list(numbers[numbers.index.str.fullmatch(r"\d+(-\d+)?")]) == cells
            assert numbers["samples"] == sum(cells)
            assert "3-5" in numbers
        if layout[1]:
            assert set(found["description"]) == {text}
            assert set(found["unit"]) == {"" if "distribution" in kind else unit}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_never_crashes_and_spares_the_other_lines(tmp_path: Path, data: st.DataObject) -> None:
    text = bytearray(b"".join(lzma.decompress(REAL.read_bytes()).splitlines(keepends=True)[:400]))
    text += b"\n---------- End Simulation Statistics   ----------\n"
    whole = parse_block(bytes(text[50:-50]))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(60, len(text) - 60))
        size = data.draw(st.integers(1, 40))
        noise = data.draw(st.binary(max_size=40))
        text[at : at + size] = noise
    path = tmp_path / "stats.txt"
    path.write_bytes(text)
    stats = read_stats(path)
    for dump in stats:
        rows, original = (dict(zip(one.names, one.values, strict=True)) for one in (dump, whole))
        hurt = [name for name in original if name not in rows or not _same(rows[name], original[name])]
        assert len(hurt) <= 6 * 5
    stats.frame()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["", ".gz", ".xz", ".zst"]))
def test_any_bytes_are_no_statistics(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"stats.txt{suffix}"
    path.write_bytes(content)
    assert len(read_stats(path)) == 0
