"""Per-kernel tables from statistics per dispatch and from a dump per kernel, and their phases."""

from __future__ import annotations

import csv
import json
import lzma
import math
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from gem5_text import one_after_another
from places import ROOT
from run_records import run_record

from apuflow.configure import load_release
from apuflow.core.errors import AnalysisError
from apuflow.score.errors import recorded
from apuflow_analysis.counters.counters import counters
from apuflow_analysis.tables.kernels import UNNAMED, kernel_table, phases
from apuflow_analysis.tables.records import Row, read_record
from apuflow_analysis.tables.tables import build

DATA = ROOT / "tests/data/gem5_runs"
NAMES = ("softmax_fwd-100x1000x1x1-u4", "relu_fwd-100x32x16x16-u4", "softmax_bwd-100x1000x1x1-u4")


def _recorded() -> dict[str, dict[str, str]]:
    with recorded()[0].open() as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


def _launch(name: str) -> dict[str, Any]:
    """The launch as runs.csv has it."""
    row = _recorded()[name]
    kind, direction = row["primitive"].split("_")
    return {
        "layer": f"{kind}1",
        "layer_kind": kind,
        "direction": direction,
        "kernel": row["kernel"],
        "grid": [int(row[f"grid_{axis}"]) for axis in "xyz"],
        "workgroup": [int(row[f"workgroup_{axis}"]) for axis in "xyz"],
    }


def _record(directory: Path, launches: list[dict[str, Any]], statistics: object, **changes: Any) -> Path:
    options = {"num-compute-units": 4, "simds-per-cu": 4, "wf-size": 64, "issue-period": 4}
    content = run_record(
        **{"options": options, "release": None, **changes}, launches=launches, statistics=statistics
    )
    (directory / "run.json").write_text(json.dumps(content))
    return directory


def _of(release: str) -> dict[str, Any]:
    """What the record of a run on a shipped release says of it."""
    return {"release": release, "release_facts": asdict(load_release(release, ROOT).facts)}


def _dump(name: str, launched: bool = True) -> bytes:
    text = lzma.decompress((DATA / f"stats/{name}.txt.xz").read_bytes())
    if not launched:
        row = b"dispatcher.numKernelLaunched            1"
        assert row in text
        text = text.replace(row, row[:-1] + b"0")
    return text


def test_a_statistics_file_per_dispatch(tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copy(DATA / f"stats/{name}.txt.xz", tmp_path)
    table = kernel_table(
        _record(tmp_path, [_launch(name) for name in NAMES], [f"{name}.txt.xz" for name in NAMES])
    )
    runs = _recorded()
    assert list(table["dispatch"]) == [0, 1, 2]
    assert list(table["kernel"]) == [runs[name]["kernel"] for name in NAMES]
    assert list(table["gpu_cycles"]) == [float(runs[name]["gpu_cycles"]) for name in NAMES]
    assert table["ipc"].iloc[1] == int(runs[NAMES[1]]["instructions"]) / int(runs[NAMES[1]]["cu_cycles"])
    assert list(table["direction"]) == ["fwd", "fwd", "bwd"]


def test_a_dump_per_kernel(tmp_path: Path) -> None:
    """As v24.0 writes: every kernel a dump, copies of the runtime too, a last one without a kernel."""
    copy = "pool_fwd-100x3x64x64-u4"
    dumps = [_dump(copy), *(_dump(name) for name in NAMES), _dump(NAMES[0], launched=False)]
    (tmp_path / "stats.txt").write_bytes(one_after_another(*dumps))
    table = kernel_table(_record(tmp_path, [_launch(name) for name in NAMES], "stats.txt", **_of("v24.0")))
    runs = _recorded()
    assert list(table["kernel"]) == [UNNAMED, *(runs[name]["kernel"] for name in NAMES)]
    assert list(table["workgroups"]) == [int(runs[name]["workgroups"]) for name in (copy, *NAMES)]


def test_caches_that_are_never_reset_count_from_the_dispatch_before(tmp_path: Path) -> None:
    """gem5 v23.0 keeps cache counts over a reset; the kernels' own are those of runs of one kernel each."""
    (tmp_path / "stats.txt").write_bytes(lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes()))
    columns = {"kernel": "Im2d2Col", "grid": [2048, 1, 1], "workgroup": [256, 1, 1]}
    product = {"kernel": "sgemm", "grid": [256, 16, 1], "workgroup": [16, 16, 1]}
    record = _record(tmp_path, [columns, product] * 2, "stats.txt", **_of("v23.0"))
    table = kernel_table(record)
    assert list(table["tcp_hits"] + table["tcp_misses"]) == [1684, 3445, 1684, 4000]
    assert list(table["tcp_misses"]) == [1680, 2122, 1680, 2188]
    assert list(table["scalar_misses"]) == [2, 2, 2, 2]
    assert list(table["sqc_misses"]) == [17, 15, 0, 0]  # the second pass finds its code
    later = kernel_table(_record(tmp_path, [columns, product] * 2, "stats.txt", **_of("v23.1")))
    assert list(later["tcp_misses"]) == [
        1680,
        3802,
        5482,
        7670,
    ]  # resets them: printed numbers are the kernels'


def test_the_only_kernel_of_a_run_is_its_row(tmp_path: Path) -> None:
    """Blocks before and after it, in which unreset counts stand again, are not its."""
    text = lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes())
    begin = b"---------- Begin Simulation Statistics"
    before, first, *_ = text.split(begin)[1:]
    row = b"dispatcher.numKernelLaunched            1"
    assert row in first
    after = first.replace(row, row[:-1] + b"0")
    (tmp_path / "stats.txt").write_bytes(
        one_after_another(*(begin + block for block in (before, first, after)))
    )
    launch = {"kernel": "Im2d2Col", "grid": [2048, 1, 1], "workgroup": [256, 1, 1]}
    [found] = kernel_table(_record(tmp_path, [launch], "stats.txt", **_of("v23.0"))).to_dict("records")
    assert (found["kernels_launched"], found["tcp_misses"], found["wavefronts"]) == (1, 1680, 32)


def test_a_run_of_kernels_is_the_sum_of_its_kernels(tmp_path: Path) -> None:
    """What the CPU did before and after is the host's time only."""
    file = tmp_path / "stats.txt"
    file.write_bytes(lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes()))
    launches = [
        {"kernel": kernel, "grid": [256 * groups, 1, 1], "workgroup": [256, 1, 1]}
        for kernel, groups in (("Im2d2Col", 8), ("sgemm", 16)) * 2
    ]
    table = kernel_table(_record(tmp_path, launches, "stats.txt", **_of("v23.0")))
    whole = counters(file, load_release("v23.0", ROOT).facts, kernels_only=True)
    for name in ("gpu_cycles", "tcp_misses", "l3_misses", "dram_bytes_read", "sim_ticks", "instructions"):
        assert whole[name] == table[name].sum(), name
    everything = counters(file, load_release("v23.0", ROOT).facts)
    assert everything["host_seconds"] == whole["host_seconds"] > table["host_seconds"].sum()
    assert everything["dram_bytes_read"] > whole["dram_bytes_read"]


def _with_matrix(dump: bytes, kind: str, lanes: int) -> bytes:
    """The dump of a kernel that also has so many lanes of matrix instructions of a type."""
    rows = dump.decode().splitlines(keepends=True)
    at = next(n for n, row in enumerate(rows) if f"CUs0.numVecOpsExecuted{kind} " in row)
    name, value, *_ = rows[at].split()
    rows[at] = f"{name} {int(value) + lanes} # number of vec ops\n"
    rows.insert(at + 1, f"{name.removesuffix(kind)}MFMA{kind} {lanes} # number of vec ops\n")
    return "".join(rows).encode()


def test_operations_of_matrix_instructions_are_those_of_the_kernels_code(tmp_path: Path) -> None:
    """4,096 lanes are 64 instructions, of 2 * 32 * 32 * 8 operations and of 2 * 32 * 32 * 2."""
    name = "relu_fwd-100x32x16x16-u4"
    dumps = [_with_matrix(_dump(name), kind, 4096) for kind in ("F16", "F32")]
    (tmp_path / "stats.txt").write_bytes(one_after_another(*dumps))
    codes = {"f16": [16384, 32]}, {"f32": [4096, 64]}
    launches = [_launch(name) | {"matrix": code} for code in codes]
    plain = counters(DATA / f"stats/{name}.txt.xz")
    record = _record(tmp_path, launches, "stats.txt", engine="gem5-kernels", **_of("v24.0"))
    table = kernel_table(record)
    assert list(table["matrix_flops_f16"]) == [1_048_576, 0]
    assert list(table["matrix_flops_f32"]) == [0, 262_144]
    assert list(table["matrix_cycles"]) == [2048, 4096]
    assert list(table["flops"]) == [plain["flops"] + 1_048_576, plain["flops"] + 262_144]
    assert list(table["vector_flops_f32"]) == [plain["flops"]] * 2
    whole = read_record(record)
    assert isinstance(whole, Row)
    assert whole.counters["flops"] == 2 * plain["flops"] + 1_048_576 + 262_144
    assert whole.counters["matrix_cycles"] == 6144
    facts = _of("v24.0")
    facts["release_facts"]["without_matrix_time"] = "gfx942"
    for dump, told in ((dumps[0], True), (_dump(name), False)):
        (tmp_path / "one.txt").write_bytes(dump)
        row = read_record(_record(tmp_path, launches[:1], "one.txt", engine="gem5-kernels", **facts))
        assert isinstance(row, Row)
        assert any("no time of gfx942's matrix" in each for each in row.findings) is told
    unknown = kernel_table(_record(tmp_path, [launches[0], _launch(name)], "stats.txt", **_of("v24.0")))
    assert unknown["flops"].isna().tolist() == unknown["matrix_cycles"].isna().tolist() == [False, True]


def test_launches_of_which_the_first_workgroups_ran(tmp_path: Path) -> None:
    """As if the first kernel's 8 workgroups, two at a time, were the first of 80 that follow evenly."""
    (tmp_path / "stats.txt").write_bytes(lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes()))
    launches: list[dict[str, Any]] = [
        {"kernel": kernel, "grid": [256 * groups, 1, 1], "workgroup": [256, 1, 1]}
        for kernel, groups in (("Im2d2Col", 8), ("sgemm", 16)) * 2
    ]
    before = kernel_table(_record(tmp_path, launches, "stats.txt", **_of("v23.0")))
    launches[0] |= {"grid": [256 * 80, 1, 1], "ran": 8}
    launches[1]["kept_whole"] = "it looks at the size of its grid"
    traced: dict[str, Any] = {"name": "Some kernel", "grid": [1], "workgroup": [1], "arguments": 0}
    dispatches: list[dict[str, Any]] = [{**traced, "submitted": 1} for _ in launches]
    dispatches[0] |= {"held": 2, "fillings": [1000.0, 9000.0, 17000.0, 25000.0]}
    record = _record(
        tmp_path, launches, "stats.txt", **_of("v23.0"), engine="gem5-kernels", dispatches=dispatches
    )
    table = kernel_table(record)
    assert list(table["workgroups"]) == [80, 16, 8, 16]
    assert table["gpu_cycles"][0] == before["gpu_cycles"][0] + 72 * 4  # 4,000 ticks each, 1,000 a cycle
    assert table["instructions"][0] == 10 * before["instructions"][0]
    assert math.isnan(table["tcp_misses"][0]) and not table["tcp_misses"][1:].isna().any()
    assert [text[:12] for text in table["extrapolated"]] == ["extrapolated", "", "", ""]
    row = read_record(record)
    assert isinstance(row, Row)
    assert row.counters["gpu_cycles"] == table["gpu_cycles"].sum()
    assert row.counters["instructions"] == table["instructions"].sum()
    assert math.isnan(row.counters["tcp_misses"])
    wide = 0.1 * 72 * 4
    ends = (row.values["gpu_cycles_low"], row.values["gpu_cycles_high"])
    assert ends == pytest.approx((table["gpu_cycles"].sum() - wide, table["gpu_cycles"].sum() + wide))
    share = wide / table["gpu_cycles"].sum()
    assert row.values["extrapolated"] == (
        f"1 of 4 launches: extrapolated from 8 of 80 workgroups, +- {share:.1%}; "
        "sgemm ran whole: it looks at the size of its grid"
    )
    [made] = build([record]).to_dict("records")
    assert (made["extrapolated"], made["gpu_cycles_low"]) == (row.values["extrapolated"], ends[0])


def test_the_cycles_of_the_program_that_launches_stand_for(tmp_path: Path) -> None:
    """The second kernel's first launch stands for nine more; the last launch is no part of the program."""
    (tmp_path / "stats.txt").write_bytes(lzma.decompress((DATA / "dispatches/conv_fwd.txt.xz").read_bytes()))
    launches: list[dict[str, Any]] = [
        {"kernel": kernel, "grid": [256 * groups, 1, 1], "workgroup": [256, 1, 1]}
        for kernel, groups in (("Im2d2Col", 8), ("sgemm", 16), ("Im2d2Col", 8), ("other", 16))
    ]
    table = kernel_table(_record(tmp_path, launches, "stats.txt", **_of("v23.0")))
    launches[1]["weight"], launches[3]["weight"] = 10.0, 0.0
    record = _record(tmp_path, launches, "stats.txt", **_of("v23.0"), engine="gem5-kernels")
    [made] = build([record]).to_dict("records")
    cycles = table["gpu_cycles"].tolist()
    assert made["gpu_cycles"] == sum(cycles)
    assert made["program_cycles"] == pytest.approx(cycles[0] + 10 * cycles[1] + cycles[2], rel=1e-4)
    assert made["program_cycles_high"] - made["program_cycles"] == pytest.approx(0.9 * cycles[1], rel=1e-4)
    plain = [{**each, "weight": None} for each in launches]
    [alone] = build([_record(tmp_path, plain, "stats.txt", **_of("v23.0"))]).to_dict("records")
    assert math.isnan(alone["program_cycles"])


def test_phases_add_up(tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copy(DATA / f"stats/{name}.txt.xz", tmp_path)
    launches = [_launch(name) for name in NAMES]
    table = kernel_table(_record(tmp_path, launches, [f"{name}.txt.xz" for name in NAMES]))
    directions = phases(table)
    ticks = [float(_recorded()[name]["gpu_active_ticks"]) for name in NAMES]
    assert list(directions["direction"]) == ["fwd", "bwd"]
    assert list(directions["dispatches"]) == [2, 1]
    assert list(directions["gpu_active_ticks"]) == [ticks[0] + ticks[1], ticks[2]]
    assert list(directions["time_share"]) == pytest.approx(
        [(ticks[0] + ticks[1]) / sum(ticks), ticks[2] / sum(ticks)]
    )
    forward = directions.iloc[0]
    assert forward["ipc"] == forward["instructions"] / forward["cu_cycles"]
    kinds = phases(table, by=["layer_kind"])
    assert dict(zip(kinds["layer_kind"], kinds["dispatches"], strict=True)) == {"softmax": 2, "relu": 1}
    assert kinds["valu_insts"].sum() == table["valu_insts"].sum()
    assert not math.isnan(forward["valu_utilization"])
    with pytest.raises(AnalysisError, match="no such column"):
        phases(table, by=["colour"])


def test_launches_that_are_not_in_the_statistics(tmp_path: Path) -> None:
    (tmp_path / "stats.txt").write_bytes(_dump(NAMES[0]))
    launches = [_launch(name) for name in NAMES]
    with pytest.raises(AnalysisError, match="2 of 3 launches are not in the statistics"):
        kernel_table(_record(tmp_path, launches, "stats.txt"))


def test_failed_runs_and_bad_launches(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="did not complete"):
        kernel_table(_record(tmp_path, [], None, status="timeout"))
    with pytest.raises(AnalysisError) as caught:
        kernel_table(_record(tmp_path, [{"kernel": "k", "grid": [1]}], "stats.txt"))
    assert caught.value.key == "launches.0.workgroup"
