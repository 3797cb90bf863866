"""Reading statistics: real files, every kind of row, packings, several dumps, cut files."""

from __future__ import annotations

import gzip
import json
import lzma
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import zstandard
from gem5_text import Printer
from places import DATA

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.reader import iter_dumps, read_stats
from apuflow.gem5.stats.rows import description

ONE_CU = DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u1.txt.xz"
TWO_CU = DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u2.txt.xz"


def _printer() -> Printer:
    printer = Printer()
    printer.row("simTicks", 5469838500, "Number of ticks simulated", "Tick")
    printer.row("a.ratio", 0.25, "A (nested) ratio, per cycle", "(Count/Cycle)")
    printer.row("a.none", math.nan)
    printer.row("a.much", math.inf)
    printer.row("a.wide", 1234567890123456)
    printer.vector("a.vector", ["first", "second"], [3, 1], "A vector", "Count")
    printer.oneline("a.events", [10, 30, 0], unit="Unspecified")
    printer.row("a.events::total", 40, unit="Unspecified")
    printer.distribution("a.dist", 0, 2, [1, 0, 3], 2.5, "Lanes")
    printer.distribution("a.lat", 100, 50, [0, 4], 151.0, "Delay", oneline=True)
    printer.distribution("a.rows_0", 0, 1, [0, 0], 0.0)
    printer.distribution("a.rows_1", 0, 1, [2, 0], 0.0)
    printer.vector("a.pkts_cpu.port", ["mem", "total"], [1, 2], total=False)
    return printer


@pytest.fixture
def text() -> str:
    return _printer().block()


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _column(path: Path, column: str = "value") -> dict[tuple[str, str], Any]:
    """A column of the only dump of a file, by name and sub."""
    frame = read_stats(path).frame()
    return dict(zip(zip(frame["name"], frame["sub"], strict=True), frame[column], strict=True))


def _cells(path: Path, name: str, column: str = "value") -> dict[str, Any]:
    """A column of all rows and cells of a statistic."""
    return {sub: value for (base, sub), value in _column(path, column).items() if base == name}


def test_scalars_with_units_and_descriptions(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "stats.txt", text)
    (dump,) = read_stats(path)
    units = _column(path, "unit")
    assert dump.numbers["simTicks"] == 5469838500
    assert units["simTicks", ""] == "Tick"
    assert _column(path, "description")["a.ratio", ""] == "A (nested) ratio, per cycle"
    assert units["a.ratio", ""] == "(Count/Cycle)"
    assert math.isnan(dump.numbers["a.none"])
    assert dump.numbers["a.much"] == math.inf
    assert dump.numbers["a.wide"] == 1234567890123456
    assert dump.faults == ()


def test_vectors_and_their_shares(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "stats.txt", text)
    (dump,) = read_stats(path)
    assert _cells(path, "a.vector") == {"first": 3, "second": 1, "total": 4}
    assert _cells(path, "a.vector", "share")["first"] == 75.0
    assert _cells(path, "a.vector", "cumulative")["second"] == 100.0
    assert _cells(path, "a.events") == {"0": 10, "1": 30, "2": 0, "total": 40}
    assert _cells(path, "a.events", "share")["1"] == 75.0
    assert _cells(path, "a.events", "unit")["0"] == "Unspecified"
    assert dump.numbers["a.vector::second"] == 1
    assert "a.events" not in dump.numbers and "a.vector::third" not in dump.numbers


def test_distributions(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "stats.txt", text)
    lanes = _cells(path, "a.dist")
    assert [lanes[name] for name in ("samples", "mean", "underflows", "total")] == [4, 2.5, 0, 4]
    assert [lanes[name] for name in ("0-1", "2-3", "4-5")] == [1, 0, 3]
    delay = _cells(path, "a.lat")
    assert (delay["100-149"], delay["150-199"], delay["mean"]) == (0, 4, 151)
    assert _cells(path, "a.rows_1")["samples"] == 2


def test_a_name_that_is_a_scalar_and_a_vector() -> None:
    """v23.0 prints bytesRead of the memory and of the DRAM interface under one name."""
    found = _cells(TWO_CU, "system.mem_ctrls.dram.bytesRead")
    scalar = found.pop("")
    assert found == {"ruby.dir_cntrl0": 1737856, "total": 1737856}
    assert 0 < scalar < 1737856


def test_real_rows_of_every_kind() -> None:
    (dump,) = read_stats(TWO_CU)
    loads = "system.ruby.TCP_Controller.Load"
    assert _cells(TWO_CU, loads) == {"0": 10072, "1": 10233, "total": 20305}
    assert _cells(TWO_CU, loads, "share")["0"] == 49.60
    assert dump.numbers["system.ruby.TCC_Controller.RdBlk"] == 9699
    latency = _cells(TWO_CU, "system.cpu3.loadLatencyDist")
    assert [latency[name] for name in ("samples", "mean", "overflows")] == [4800, 445711.25, 38]
    assert sum(value for label, value in latency.items() if label[0].isdigit()) + 38 == 4800
    conflicts = _cells(TWO_CU, "system.cpu3.CUs0.ldsBankConflictDist")
    assert (conflicts["6-7"], conflicts["64"]) == (1300, 0)
    assert dump.faults == ()


def test_frame_has_every_number(tmp_path: Path, text: str) -> None:
    stats = read_stats(_write(tmp_path / "stats.txt", text))
    frame = stats.frame().set_index(["name", "sub"])
    units, values, shares = (frame[name].to_dict() for name in ("unit", "value", "share"))
    assert values["a.vector", "first"] == 3
    assert units["a.vector", "first"] == "Count"
    assert values["a.events", "1"] == 30
    assert shares["a.lat", "150-199"] == 100
    assert set(stats.frame()["dump"]) == {0}


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_packings(tmp_path: Path, text: str, suffix: str) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.compress,
    }
    path = tmp_path / f"stats.txt{suffix}"
    path.write_bytes(packs[suffix](text.encode()))
    stats = read_stats(path)
    assert stats.cut is None
    assert stats[0].numbers["simTicks"] == 5469838500
    assert _column(path, "unit")["simTicks", ""] == "Tick"


@pytest.mark.parametrize(("spaces", "desc"), [(False, True), (True, False), (False, False)])
def test_other_layouts_of_the_text(tmp_path: Path, spaces: bool, desc: bool) -> None:
    narrow = Printer(spaces=spaces, desc=desc)
    narrow.row("simTicks", 5469838500, "Number of ticks simulated", "Tick")
    narrow.oneline("a.events", [10, 30, 0], unit="Unspecified")
    narrow.vector("a.vector", ["first", "second"], [3, 1], "A vector", "Count")
    path = _write(tmp_path / "stats.txt", narrow.block())
    assert _column(path)["simTicks", ""] == 5469838500
    assert list(_cells(path, "a.events").values()) == [10, 30, 0]
    assert _cells(path, "a.vector", "unit")["first"] == ("Count" if desc else "")
    assert _cells(path, "a.vector", "description")["first"] == ("A vector" if desc else "")


def test_several_dumps_one_at_a_time(tmp_path: Path) -> None:
    blocks = []
    for index in range(3):
        printer = Printer()
        printer.row("simTicks", index)
        blocks.append(printer.block())
    path = _write(tmp_path / "stats.txt", "".join(blocks))
    assert [dump.numbers["simTicks"] for dump in iter_dumps(path)] == [0, 1, 2]
    assert len(read_stats(path)) == 3


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_cut_file_keeps_its_complete_dumps(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"stats.txt{suffix}"
    whole = (text + text[: len(text) // 2]).encode()
    path.write_bytes(gzip.compress(whole) if suffix else whole)
    stats = read_stats(path)
    assert len(stats) == 1
    assert stats[0].numbers["a.vector::total"] == 4
    assert stats.cut is not None and "dump 2 has no end" in stats.cut


def test_a_torn_archive_keeps_its_complete_dumps(tmp_path: Path) -> None:
    content = lzma.decompress(ONE_CU.read_bytes())
    packed = gzip.compress(content * 2)
    path = tmp_path / "stats.txt.gz"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    stats = read_stats(path)
    assert len(stats) == 1
    assert stats[0].numbers["system.cpu3.shaderActiveTicks"] == 599689999
    assert stats.cut is not None and "torn" in stats.cut


def test_a_dump_cut_off_before_the_next(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "stats.txt", text[: len(text) // 2] + text)
    stats = read_stats(path)
    assert len(stats) == 1
    assert stats[0].numbers["simTicks"] == 5469838500
    assert stats.cut is not None and "dump 1 was cut off" in stats.cut


def test_empty_and_missing_files(tmp_path: Path) -> None:
    assert len(read_stats(_write(tmp_path / "stats.txt", ""))) == 0
    with pytest.raises(AnalysisError, match="cannot open"):
        read_stats(tmp_path / "none.txt")


@pytest.mark.parametrize(
    "case", sorted(path.name for path in (DATA / "gem5_outcomes").iterdir() if path.is_dir())
)
def test_statistics_of_real_endings(case: str) -> None:
    folder = DATA / "gem5_outcomes" / case
    size = json.loads((folder / "case.json").read_text())["stats_bytes"]
    stats = read_stats(folder / "stats.txt.xz")
    assert stats.cut is None
    assert len(stats) == (1 if size else 0)
    if size:
        assert stats[0].numbers["simTicks"] > 0
        assert stats[0].faults == ()


def test_select_reads_what_is_asked_for() -> None:
    whole = read_stats(TWO_CU).frame().set_index(["name", "sub"])
    selected = read_stats(TWO_CU, select=["simTicks", "system.cpu3.CUs*.completedWGs", "*.stallCycles"])
    part = selected.frame().set_index(["name", "sub"])
    assert set(part.index.get_level_values("name")) == {
        "simTicks",
        *(f"system.cpu3.CUs{unit}.completedWGs" for unit in (0, 1)),
        *(f"system.cpu3.CUs{unit}.ScoreboardCheckStage.stallCycles" for unit in (0, 1)),
    }
    pd.testing.assert_frame_equal(part, whole.loc[part.index])


def test_a_dump_outlives_its_file(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "stats.txt", text)
    stats = read_stats(path)
    _write(tmp_path / "other.txt", text.replace("Tick", "Tock")).replace(path)
    assert stats.frame()["unit"][0] == "Tick"


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("window", [50, 61, 64, 97, 1000])
def test_dumps_do_not_depend_on_how_the_file_is_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, window: int
) -> None:
    blocks = []
    for index in range(5):
        printer = Printer()
        for row in range(index * 3):
            printer.row(f"a.row{row}", index * 100 + row, "x" * 7 * index)
        printer.row("simTicks", index)
        blocks.append(printer.block())
    content = "".join(blocks) + blocks[4][:-20]
    path = tmp_path / f"stats.txt{suffix}"
    path.write_bytes(gzip.compress(content.encode()) if suffix else content.encode())
    monkeypatch.setattr("apuflow.gem5.stats.blocks._READ", window)
    reader = iter_dumps(path)
    dumps = list(reader)
    assert [dump.numbers["simTicks"] for dump in dumps] == [0, 1, 2, 3, 4]
    assert [len(dump) for dump in dumps] == [1, 4, 7, 10, 13]
    assert dumps[4].numbers["a.row11"] == 411
    assert description(dumps[4].tail(dumps[4].names.index("a.row11")))[0] == "x" * 28
    assert reader.cut is not None and "dump 6 has no end" in reader.cut
