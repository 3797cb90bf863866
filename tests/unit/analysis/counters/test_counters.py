"""Counters against the recorded values of real runs, over both ways of reading, releases and dumps."""

from __future__ import annotations

import csv
import functools
import lzma
import math
import re
from pathlib import Path

import pytest
from gem5_text import one_after_another
from places import ROOT

from apuflow.configure import load_release
from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.reader import Stats, read_stats
from apuflow.score import errors as score
from apuflow_analysis.counters.counters import counters, file_counters, since_reset
from apuflow_analysis.counters.table import COUNTERS

DATA = ROOT / "tests/data/gem5_runs"
FILES = sorted((DATA / "stats").glob("*.xz"))
DISPATCHES = DATA / "dispatches/conv_fwd.txt.xz"
SMALL = DATA / "stats/softmax_fwd-100x1000x1x1-u1.txt.xz"
TWO = DATA / "stats/softmax_fwd-100x1000x1x1-u2.txt.xz"
HAND = {
    # read off the statistics of the softmax on two compute units
    "tcc_reads": 9699,
    "tcc_writes": 7050,
    "tcc_read_misses": 6276,
    "tcp_load_hits": 10632,
    "tcp_load_misses": 9673,
    "tcp_store_events": 7050,
    "lds_accesses": 7000,
    "load_latency_ticks": 4800 * 445711.25,
    "l3_misses": 27154,
    "compute_units": 2,
    "tcc_banks": 1,
}


@functools.cache
def recorded() -> dict[str, dict[str, str]]:
    with score.recorded()[0].open() as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


@functools.cache
def full(path: Path) -> Stats:
    return read_stats(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".txt.xz"))
def test_counters_equal_what_was_recorded(path: Path) -> None:
    found = counters(path)
    run = recorded()[path.name.removesuffix(".txt.xz")]
    shared = [name for name in found if name in run]
    assert len(shared) == 18
    assert {name: found[name] for name in shared} == {name: float(run[name]) for name in shared}
    assert found.broken == ()
    not_there = ["network_flits", "token_cycles", "walk_cycles", "dram_busy_cycles"]
    assert [name for name, value in found.items() if math.isnan(value)] == not_there
    assert found["compute_units"] == float(run["num_compute_units"])
    assert found["tcc_banks"] == float(run["num_tccs"] or 1)
    assert found["slot_cycles"] == found["cu_cycles"] * 4 * float(run["wfs_per_simd"] or 10)


@pytest.mark.parametrize(
    "path", [path for path in FILES if "u64" not in path.name], ids=lambda path: path.stem
)
def test_locating_rows_gives_what_reading_everything_gives(path: Path) -> None:
    everything = counters(full(path))
    assert dict(counters(path)) == dict(everything)
    assert everything.broken == ()


def test_values_added_up_by_hand() -> None:
    found = counters(TWO)
    for name, value in HAND.items():
        assert found[name] == value, name


def test_registers_dispatch_stalls_and_dram_energy_added_up_by_hand() -> None:
    """Sums by awk over the rows of the softmax on four compute units."""
    found = counters(DATA / "stats/softmax_fwd-100x1000x1x1-u4.txt.xz")
    expected = {
        "vector_register_reads": 14607200,
        "vector_register_writes": 9165400,
        "scalar_register_reads": 212800,
        "dispatch_stalls_coalescer": 2019884,
        "dispatch_stalls_unit": 4398678,
        "vector_lanes_f32": 4206800,
        "network_bytes_data": 1522800,
        "network_bytes_control": 660224,
        "network_bytes_writeback_data": 0,
        "network_hops": 357764,
        "dram_command_energy": 334884765,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["dram_background_energy"] == pytest.approx(5.07542e9, rel=1e-6)


def test_messages_of_each_kernel_are_those_since_the_dump_before() -> None:
    """gem5 never resets them (Switch.cc resetStats). A write crosses a link to a TCC, two to a directory."""
    facts = load_release("v23.0").facts
    dumps = since_reset(file_counters(DISPATCHES)[0], facts)
    data = [dump["network_bytes_data"] / 72 for dump in dumps]
    assert data == [3 * dump["tcc_writes"] for dump in dumps] == [0, 4800, 576, 4800, 576, 0]
    energy = [dump["dram_command_energy"] for dump in dumps]
    assert energy == [13890285, 23133180, 25977555, 22729545, 2814825, 42840]
    assert counters(DISPATCHES, facts, kernels_only=True)["network_bytes_data"] == 72 * (4800 + 576) * 2


def test_garnet_counts_flits_and_no_bytes_of_classes(tmp_path: Path) -> None:
    """GarnetNetwork.cc regStats: flits_injected is a vector with a total; routers print no utilization."""
    probe = "system.ruby.network.ext_links0.int_node.percent_links_utilized"
    path = _edited(tmp_path, (probe, "system.ruby.network.flits_injected::total"))
    text = re.sub(r"(flits_injected::total +)\S+", r"\g<1>1234", path.read_text())
    path.write_text(re.sub(r"(?m)^system\.ruby\.network\.msg_.*\n", "", text))
    found = counters(path)
    assert found["network_flits"] == 1234
    assert math.isnan(found["network_bytes_data"]) and math.isnan(found["network_hops"])


def test_a_memory_without_currents_has_no_energy(tmp_path: Path) -> None:
    path = _edited(tmp_path)
    path.write_text(re.sub(r"(rank\d\.\w+Energy +)\S+", r"\g<1>0", path.read_text()))
    found = counters(path)
    assert math.isnan(found["dram_command_energy"]) and math.isnan(found["dram_background_energy"])


def test_a_read_of_a_line_on_its_way_leaves_the_tcc_as_well() -> None:
    """GPU_VIPER-TCC.sm, IV: read off the statistics of a batch normalisation on four compute units."""
    found = counters(DATA / "stats/bn_bwd-100x1000x1x1-u4.txt.xz")
    names = ("tcc_read_misses", "tcc_reads_in_flight", "tcc_reads")
    assert [found[name] for name in names] == [12968, 5465, 12968 + 5465 + 61196]
    assert counters(TWO)["tcc_reads_in_flight"] == 0


def test_lds_accesses_without_an_active_lane_have_no_conflicts(tmp_path: Path) -> None:
    """A real run of a matrix product: 18 of 5360 accesses were sampled as 4294967295, which is -1 to gem5."""
    text = lzma.decompress(TWO.read_bytes()).decode()
    for unit, samples, mean in ((0, "5360", "14423401.880970"), (1, "10", "3.000000")):
        name = rf"(system\.cpu3\.CUs{unit}\.ldsBankConflictDist::"
        text, found = re.subn(name + r"samples) +\d+", rf"\1 {samples}", text)
        text, means = re.subn(name + r"mean) +[\d.]+", rf"\1 {mean}", text)
        assert found == means == 1
    path = tmp_path / "stats.txt"
    path.write_text(text)
    assert counters(path)["lds_bank_conflicts"] == 22772 + 30


def test_several_files_and_dumps_are_one_run(tmp_path: Path) -> None:
    one = counters(SMALL)
    content = lzma.decompress(SMALL.read_bytes())
    twice = tmp_path / "stats.txt"
    twice.write_bytes(one_after_another(content, content))
    for both in (counters(twice), counters([SMALL, SMALL]), counters(read_stats(twice))):
        assert both["instructions"] == 2 * one["instructions"]
        assert both["gpu_active_ticks"] == 2 * one["gpu_active_ticks"]
        assert both["gpu_cycles"] == round(2 * one["gpu_active_ticks"] / 1000)
        assert both["gpu_clock_ticks"] == one["gpu_clock_ticks"]
        assert both["compute_units"] == 1
        assert both["host_memory_bytes"] == one["host_memory_bytes"]


def test_a_cut_file_is_told(tmp_path: Path) -> None:
    content = lzma.decompress(SMALL.read_bytes())
    path = tmp_path / "stats.txt"
    path.write_bytes(content + content[: len(content) // 2])
    found = counters(path)
    assert found["instructions"] == 293900
    assert found.cut is not None and "dump 2 has no end" in found.cut


@pytest.mark.parametrize(
    "content", [b"", b"\n---------- Begin Simulation Statistics ----------\nsimTicks 1\n"]
)
def test_no_complete_dump(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "stats.txt"
    path.write_bytes(content)
    with pytest.raises(AnalysisError, match="no complete statistics") as caught:
        counters(path)
    assert caught.value.file == str(path)


def _edited(tmp_path: Path, *changes: tuple[str, str], source: Path = SMALL) -> Path:
    text = lzma.decompress(source.read_bytes()).decode()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "stats.txt"
    path.write_text(text)
    return path


def test_the_gpu_is_found_wherever_it_is(tmp_path: Path) -> None:
    path = _edited(tmp_path, ("system.cpu3.", "system.cpu7."))
    assert dict(counters(path)) == dict(counters(SMALL))


def test_no_gpu(tmp_path: Path) -> None:
    path = _edited(tmp_path, ("shaderActiveTicks", "otherTicks"))
    with pytest.raises(AnalysisError, match="no GPU"):
        counters(path)


def test_names_of_v23_1(tmp_path: Path) -> None:
    """From v23.1 on the DRAM interface's own counts are called dramBytesRead and dramBytesWritten."""
    path = _edited(
        tmp_path,
        ("system.mem_ctrls.dram.bytesRead   ", "system.mem_ctrls.dram.dramBytesRead"),
        ("system.mem_ctrls.dram.bytesWritten   ", "system.mem_ctrls.dram.dramBytesWritten"),
    )
    found = counters(path, load_release("v23.1", ROOT).facts)
    assert found["dram_bus_bytes_read"] == 1691264
    assert found["dram_bus_bytes_written"] == 1289024
    assert found["dram_bytes_read"] == 1737856


def test_counters_that_a_release_never_counts_are_unknown() -> None:
    old, new = (counters(SMALL, load_release(name, ROOT).facts) for name in ("v22.0", "v22.1"))
    assert math.isnan(old["sqc_hits"]) and math.isnan(old["scalar_misses"])
    assert new["sqc_hits"] == 35756


def test_zeros_of_a_pair_that_some_releases_never_count_say_nothing_without_facts(tmp_path: Path) -> None:
    rows = [line for line in lzma.decompress(SMALL.read_bytes()).decode().splitlines() if "sqc_cntrl" in line]
    kept = [row for row in rows if "m_demand_hits" in row or "m_demand_misses" in row]
    path = _edited(tmp_path, *((row, row.replace(f" {row.split()[1]} ", " 0 ")) for row in kept))
    facts = load_release("v22.1", ROOT).facts
    assert (counters(path, facts)["sqc_hits"], counters(path, facts)["sqc_misses"]) == (0, 0)
    assert math.isnan(counters(path)["sqc_hits"]) and math.isnan(counters(path)["sqc_misses"])
    assert counters(path)["scalar_hits"] == counters(SMALL)["scalar_hits"] > 0


def test_without_facts_of_its_release_a_file_yields_what_does_not_depend_on_them(tmp_path: Path) -> None:
    dispatches = tmp_path / "stats.txt"
    dispatches.write_bytes(lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes()))
    unknown, known = counters(dispatches), counters(dispatches, load_release("v23.0", ROOT).facts)
    lacking = {name for name in unknown if math.isnan(unknown[name])}
    assert {"tcp_hits", "tcc_demand_misses", "sqc_hits", "scalar_misses", "l3_misses"} <= lacking
    assert {name: unknown[name] for name in unknown if name not in lacking} == {
        name: known[name] for name in known if name not in lacking
    }


@pytest.mark.parametrize(
    ("old", "new", "identity", "numbers"),
    [
        (
            "system.cpu3.CUs.vALUInsts                      154200",
            "system.cpu3.CUs.vALUInsts                      154201",
            "instCyclesVALU",
            ("154200", "154201"),
        ),
        (
            "stallCycles::WFStop     14515790",
            "stallCycles::WFStop     24515790",
            "stall buckets",
            ("33987560", "23987560"),
        ),
        (
            "tcp_cntrl0.L1cache.m_demand_hits         9636",
            "tcp_cntrl0.L1cache.m_demand_hits         9637",
            "(of ruby.tcp_cntrl)",
            ("27313",),
        ),
    ],
)
def test_broken_identities_come_with_numbers(
    tmp_path: Path, old: str, new: str, identity: str, numbers: tuple[str, ...]
) -> None:
    found = counters(_edited(tmp_path, (old, new)))
    said = [str(broken) for broken in found.broken if identity in broken.identity]
    assert len(said) == 1
    assert all(text in said[0] for text in numbers)


def test_wavefront_slots_must_add_up(tmp_path: Path) -> None:
    text = lzma.decompress(SMALL.read_bytes()).decode()
    name = "system.cpu3.CUs.wavefronts3.numInstrExecuted"
    line = next(line for line in text.splitlines() if line.startswith(name + " "))
    value = line.split()[1]
    path = _edited(tmp_path, (line, line.replace(f" {value} ", f" {int(value) + 1} ")))
    found = counters(read_stats(path))
    assert [broken.right - broken.left for broken in found.broken] == [-1]
    assert "wavefronts*.numInstrExecuted = numInstrExecuted" in found.broken[0].identity


def test_irregular_order_is_read_whole(tmp_path: Path) -> None:
    """Compute units that lack a number between them are not guessed at."""
    path = _edited(tmp_path, ("system.cpu3.CUs1.", "system.cpu3.CUs5."), source=TWO)
    assert counters(path)["instructions"] == counters(TWO)["instructions"]


def test_every_counter_says_what_it_is() -> None:
    assert all(counter.meaning and counter.unit for counter in COUNTERS)
    assert len({counter.name for counter in COUNTERS}) == len(COUNTERS)


@pytest.mark.parametrize("source", [SMALL, TWO], ids=["one unit", "two units"])
def test_a_row_far_from_its_unit_is_found_and_hides_no_other(tmp_path: Path, source: Path) -> None:
    lines = lzma.decompress(source.read_bytes()).decode().splitlines(keepends=True)
    at = max(index for index, line in enumerate(lines) if ".completedWGs " in line)
    moved = lines.pop(at)
    path = tmp_path / "stats.txt"
    path.write_text("".join([*lines[:-3], moved, *lines[-3:]]))
    assert dict(counters(path)) == dict(counters(source))


def test_rows_of_others_among_a_units_rows(tmp_path: Path) -> None:
    lines = lzma.decompress(TWO.read_bytes()).decode().splitlines(keepends=True)
    ticks = next(index for index, line in enumerate(lines) if line.startswith("system.cpu3.clk_domain.clock"))
    last = max(index for index, line in enumerate(lines) if ".wavefronts9.numInstrExecuted " in line)
    lines.insert(last, lines.pop(ticks))
    path = tmp_path / "stats.txt"
    path.write_text("".join(lines))
    assert dict(counters(path)) == dict(counters(TWO))


def test_memory_channels_add_up(tmp_path: Path) -> None:
    lines = lzma.decompress(SMALL.read_bytes()).decode().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if line.startswith("system.mem_ctrls."))
    rows = [line for line in lines if line.startswith("system.mem_ctrls.")]
    kept = [line for line in lines if not line.startswith("system.mem_ctrls.")]
    both = [row.replace("mem_ctrls.", f"mem_ctrls{channel}.") for channel in (0, 1) for row in rows]
    path = tmp_path / "stats.txt"
    path.write_text("".join([*kept[:at], *both, *kept[at:]]))
    one, two = counters(SMALL), counters(path)
    names = [name for name in one if name.startswith("dram_") and name != "dram_busy_cycles"]
    assert len(names) == 9
    assert {name: two[name] for name in names} == {name: 2 * one[name] for name in names}
