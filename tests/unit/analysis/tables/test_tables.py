"""Tables from run records: columns, failures, order, formats."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from places import ROOT, STATS
from run_records import batch_record, run_record

from apuflow.configure import load_release
from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.table import NAMES
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables import store, tables

OPTIONS = {
    "simds-per-cu": 4,
    "wfs-per-simd": 10,
    "wf-size": 64,
    "issue-period": 4,
    "num-tccs": 1,
    "bw-scalor": 0,
    "TCP_latency": 4,
    "glbmem-rd-bus-width": 32,
    "glbmem-wr-bus-width": 32,
    "ldsBankConflictPenalty": 1,
    "gpu-clock": "1GHz",
    "ruby-clock": "2GHz",
}


def record(folder: Path, units: int, **changes: Any) -> Path:
    """A run directory as the engines leave it, of the softmax on ``units`` compute units."""
    directory = folder / f"u{units}"
    directory.mkdir(parents=True)
    given: dict[str, Any] = {
        "engine": "gem5-kernels",
        "workload": "softmax_fwd",
        "direction": "fwd",
        "point": f"u{units}-0000000{units % 10}",
        "axes": {"num-compute-units": units},
        "options": {**OPTIONS, "num-compute-units": units},
        "gfx": "gfx801",
        "release": "v23.0",
        "evidence": "exiting with last active thread context",
        "statistics": "stats.txt.xz",
        "provenance": {"gem5_commit": "6835f06657", "mmap_bytes": 1024},
    }
    content = run_record(**{**given, **changes})
    if content["statistics"] == "stats.txt.xz":
        shutil.copy(STATS / f"softmax_fwd-100x1000x1x1-u{units}.txt.xz", directory / "stats.txt.xz")
    (directory / "run.json").write_text(json.dumps(content))
    return directory


def failed(folder: Path) -> Path:
    return record(
        folder,
        8,
        status="gem5_panic",
        evidence="panic: Possible Deadlock detected. Aborting!",
        statistics=None,
    )


def test_axes_of_a_table_with_another_versions_checks(tmp_path: Path) -> None:
    """A machine parameter that varies is still the axis when a later column is not there."""
    frame = tables.build([record(tmp_path, 1), record(tmp_path, 4)])
    assert frame.attrs["axes"] == ("num_compute_units",)
    frame.drop(columns="stand_in").to_parquet(tmp_path / "t.parquet")
    assert store.read(tmp_path / "t.parquet").attrs["axes"] == ("num_compute_units",)


def test_a_gem5_of_another_release_is_told(tmp_path: Path) -> None:
    """A program brought along decides what runs, the sweep what is expected of it."""
    facts = asdict(load_release("v23.0", ROOT).facts)
    cases = (
        ("23.0.1.0", facts),
        ("22.1.0.0", facts),
        ("DEVELOP-FOR-23.1", facts),
        (None, facts),
        ("22.1.0.0", facts | {"gem5_version": None}),
        ("22.1.0.0", None),
    )
    directories = [
        record(
            tmp_path / str(number),
            4,
            release="mygem5",
            point=f"u4-0000000{number}",
            release_facts=known,
            provenance={"gem5_version": version},
        )
        for number, (version, known) in enumerate(cases)
    ]
    told = list(tables.build(directories)["flags"])
    assert ["another gem5" in text for text in told] == [False, True, True, False, False, False]
    assert "another gem5: release mygem5 is 23.0.1.0, 22.1.0.0 ran" in told[1]


def test_a_release_that_nobody_has_read_is_told_in_every_row(tmp_path: Path) -> None:
    """A copy of the newest release's file for a later gem5: its facts are assumed, and the rows say so."""
    text = (ROOT / "configs/gem5/v24.1.yaml").read_text()
    (tmp_path / "configs/gem5").mkdir(parents=True)
    (tmp_path / "configs/gem5/v30.0.yaml").write_text(f"known_by: nearest\n{text}")
    facts = asdict(load_release("v30.0", tmp_path).facts)
    own = asdict(load_release("v24.1", ROOT).facts)
    part = own | {"assumed_of": "v24.0", "assumed": ("options", "barrier_slots")}
    directories = [
        record(tmp_path / str(number), 4, release="v30.0", point=f"u4-0000000{number}", release_facts=known)
        for number, known in enumerate((facts, own, part))
    ]
    told = list(tables.build(directories)["flags"])
    assert ["v30.0 is not known: read as if it were v24.1" in text for text in told] == [True, False, False]
    assert "v30.0 is known in part: options, barrier_slots as in v24.0" in told[2]


def test_a_build_that_never_ran_is_told_in_every_row(tmp_path: Path) -> None:
    """Of v23.0 the GCN3 build ran in docs/gem5-kernels.md; of v22.1 none did."""
    cases = [("v23.0", "gfx801"), ("v23.0", "gfx902"), ("v22.1", "gfx801")]
    directories = [
        record(
            tmp_path / str(number),
            4,
            release=release,
            point=f"u4-0000000{number}",
            release_facts=asdict(load_release(release, ROOT).facts_on(gfx)),
        )
        for number, (release, gfx) in enumerate(cases)
    ]
    told = list(tables.build(directories)["flags"])
    assert ["never ran" in text for text in told] == [False, True, True]
    assert "gem5 v22.1 (GCN3_X86) never ran in apuflow's tests" in told[2]


def test_kernels_that_no_layer_has_are_told(tmp_path: Path) -> None:
    """On a discrete GPU ROCm's copy is a kernel: softmax of gfx803 ran two. These statistics have one."""
    one = {"kernel": "SoftmaxForward", "grid": [6400], "workgroup": [256]}
    product = {"kernel": "sgemm", "grid": [256], "workgroup": [256], "library": "rocBLAS of the image"}
    changed = product | {"changed": "no priorities"}
    cases = [("gem5", [one]), ("gem5", [one, one]), ("gem5", []), ("gem5", [one, product])]
    cases += [("gem5", [one, changed]), ("gem5-kernels", [one, one])]
    directories = [
        record(tmp_path / str(number), 4, engine=engine, point=f"u4-0000000{number}", launches=launches)
        for number, (engine, launches) in enumerate(cases)
    ]
    told = list(tables.build(directories)["flags"])
    few = ["1 kernel ran, the layers have 2" in text for text in told]
    assert few == [False, True, False, False, True, False]


def test_what_kernels_computed_stands_in_their_row(tmp_path: Path) -> None:
    wrong = {"outputs": 2, "agree": False, "max_relative_error": 0.5, "note": "top differs from NumPy by 0.5"}
    right = {"outputs": 2, "agree": True, "max_relative_error": 2e-7}
    unknown = {"outputs": 0, "agree": None, "note": "no reference"}
    launches = [{"kernel": "sgemm", "grid": [1], "workgroup": [1], "stand_in": "for rocBLAS"}] * 2
    directories = [
        record(tmp_path, 1, results=wrong),
        record(tmp_path, 4, results=right, launches=launches),
        record(tmp_path, 64, results=unknown),
    ]
    frame = tables.build(directories)
    assert list(frame["max_relative_error"].fillna(-1)) == [0.5, 2e-7, -1]
    assert "wrong results: top differs from NumPy by 0.5" in frame["flags"].iloc[0]
    assert "results" not in frame["flags"].iloc[1]
    assert "results not checked: no reference" in frame["flags"].iloc[2]
    assert list(frame["stand_in"]) == [None, "sgemm: for rocBLAS", None]


def test_a_row_says_whose_kernels_its_products_are(tmp_path: Path) -> None:
    """Launches as engine gem5-kernels recorded them on 2026-11-23; what scales C is no product."""
    plain = "stand-in for rocBLAS: one work-item per element of C in 16x16 tiles"
    scale = {"kernel": "Cijk_S", "stand_in": "stand-in for rocBLAS' HIP kernel Cijk_S: one work-item per ..."}
    own = {"kernel": "Cijk_Ailk", "library": "rocBLAS rocm-4.0.0, gfx803 kernel assembled for gfx801"}
    stand_in = {"kernel": "sgemm", "stand_in": plain}
    each = ([scale, own], [stand_in], [scale, own, stand_in], [{"kernel": "Im2d2Col"}])
    directories = [
        record(tmp_path, units, launches=[{**one, "grid": [1], "workgroup": [1]} for one in launches])
        for units, launches in zip((1, 4, 16, 64), each, strict=True)
    ]
    found = tables.build(directories)["products"]
    assert list(found) == ["rocBLAS", "stand-in", "rocBLAS + stand-in", None]


def test_rows_say_where_inputs_lay(tmp_path: Path) -> None:
    """Of an engine that starts the kernels itself; what DNNMark does nobody knows."""
    own = {"engine": "gem5-kernels"}
    runs = [
        record(tmp_path, 1, **own),
        record(tmp_path, 4, **own, identity={"inputs": "memory"}),
        record(tmp_path, 64, engine="gem5"),
    ]
    assert set(tables.build(runs)["inputs"]) == {"caches", "memory", None}


def test_one_row_per_point_in_order(tmp_path: Path) -> None:
    directories = [record(tmp_path, units) for units in (16, 4, 1, 2)]
    frame = tables.build(directories)
    assert list(frame["num_compute_units"]) == [1, 2, 4, 16]
    assert list(frame["gpu_cycles"]) == [599690, 332353, 198147, 150476]
    assert list(frame["instructions"]) == [293900] * 4
    assert frame["ipc"].iloc[0] == pytest.approx(293900 / 599689)
    assert set(NAMES) | set(compute.NAMES) <= set(frame.columns)
    assert list(frame.columns[:6]) == [
        "engine",
        "workload",
        "direction",
        "point",
        "status",
        "num_compute_units",
    ]
    assert frame["gem5_commit"].iloc[0] == "6835f06657"
    assert frame["evidence"].iloc[0] == "exiting with last active thread context"


def test_rows_are_in_order_of_sizes(tmp_path: Path) -> None:
    """As texts 16MB, 1MB, 256kB, 4MB."""
    sizes = {1: "1MB", 2: "16MB", 4: "256kB", 16: "4MB"}
    directories = [record(tmp_path, units) for units in sizes]
    points = [json.loads((each / "run.json").read_text())["point"] for each in directories]
    axes = {
        ("gem5-kernels", point): {"tcc-size": size}
        for point, size in zip(points, sizes.values(), strict=True)
    }
    frame = tables.build(directories, axes=axes)
    assert list(frame["tcc_size"]) == ["256kB", "1MB", "4MB", "16MB"]


def test_failed_points_are_named_and_have_no_numbers(tmp_path: Path) -> None:
    frame = tables.build([record(tmp_path, 4), failed(tmp_path)])
    row = frame[frame["status"] == "gem5_panic"].iloc[0]
    assert all(math.isnan(row[name]) for name in (*NAMES, *compute.NAMES))
    with pytest.raises(AnalysisError) as caught:
        tables.require_completed(frame)
    text = str(caught.value)
    assert "1 of 2 points" in text
    assert "gem5-kernels/softmax_fwd/u8-00000008: gem5_panic: panic: Possible Deadlock" in text
    tables.require_completed(frame[frame["status"] == "completed"])


def test_a_failed_run_with_full_statistics_has_no_numbers(tmp_path: Path) -> None:
    """A guest that returns non-zero leaves statistics that look valid."""
    frame = tables.build([record(tmp_path, 1, status="guest_failure")])
    assert math.isnan(frame["instructions"].item())


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_what_is_written_is_read(tmp_path: Path, extension: str) -> None:
    frame = tables.build([record(tmp_path, 4), record(tmp_path, 1), failed(tmp_path)])
    path = tmp_path / f"t.{extension}"
    store.write(frame, **{extension: path})
    again = store.read(path)
    assert again.attrs["axes"] == ("num_compute_units",)
    pd.testing.assert_frame_equal(again, frame, check_dtype=False)


def test_integers_are_written_as_integers(tmp_path: Path) -> None:
    frame = tables.build([record(tmp_path, 4), failed(tmp_path)])
    store.write(frame, csv=tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    cells = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert cells["gpu_active_ticks"] == "198146999"
    assert cells["simds_per_cu"] == "4"
    assert float(cells["ipc"]) == 293900 / 769308


def test_parquet_and_column_description_carry_units(tmp_path: Path) -> None:
    frame = tables.build([record(tmp_path, 4)])
    store.write(frame, parquet=tmp_path / "t.parquet", columns_json=tmp_path / "t.json")
    field = pq.read_schema(tmp_path / "t.parquet").field("gpu_cycles")
    assert str(field.type) == "int64"
    assert field.metadata[b"unit"] == b"cycle"
    described = json.loads((tmp_path / "t.json").read_text())
    assert [column["name"] for column in described["columns"]] == list(frame.columns)
    columns = {column["name"]: column for column in described["columns"]}
    assert columns["num_compute_units"]["kind"] == "axis"
    assert columns["ipc"]["formula"] == "instructions / cu_cycles"
    assert columns["occupancy"]["range"] == [0, 1]
    assert described["status"] == {"completed": 1}


def test_bytes_do_not_depend_on_order_or_time(tmp_path: Path) -> None:
    directories = [record(tmp_path / "runs", units) for units in (1, 2, 4)]
    contents = []
    for number, order in enumerate((directories, directories[::-1])):
        paths = [tmp_path / f"{number}.{suffix}" for suffix in ("csv", "parquet", "json")]
        store.write(tables.build(order), *paths)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    frame = tables.build([record(tmp_path / "runs", 1)])
    (tmp_path / "out").mkdir()
    (tmp_path / "blocked").write_text("a file where a directory should be")
    with pytest.raises(OSError, match="blocked"):
        store.write(frame, tmp_path / "out/t.csv", tmp_path / "blocked/t.parquet")
    assert list((tmp_path / "out").iterdir()) == []


def test_axes_of_the_asking_sweep(tmp_path: Path) -> None:
    """A run that two sweeps share is recorded with the first one's axes."""
    directory = record(tmp_path, 1)
    axes = {("gem5-kernels", "u1-00000001"): {"num-tccs": 1, "layer.n": 100}}
    frame = tables.build([directory], axes=axes)
    assert frame.attrs["axes"] == ("num_tccs", "layer.n")
    assert list(frame.columns[5:7]) == ["num_tccs", "layer.n"]
    assert frame["num_compute_units"].item() == 1


def test_a_preview_batch(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "point": ["a-1", "b-2"],
            "status": ["completed", "completed"],
            "layer.n": [10, 20],
            "num_compute_units": [4, 4],
            "instructions": [100.0, 200.0],
            "cu_cycles": [50.0, 50.0],
            "bound": ["dram", "valu"],
        }
    )
    frame.to_parquet(tmp_path / "counters.parquet")
    (tmp_path / "run.json").write_text(json.dumps(batch_record(axes={"layer.n": [10, 20]})))
    table = tables.build([tmp_path])
    assert list(table["engine"]) == ["preview"] * 2
    assert list(table["layer.n"]) == [10, 20]
    assert list(table["ipc"]) == [2, 4]
    assert list(table["bound"]) == ["dram", "valu"]
    assert table["num_compute_units"].tolist() == [4, 4]
    assert math.isnan(table["host_seconds"].iloc[0])


def test_broken_identities_stand_in_flags(tmp_path: Path) -> None:
    import lzma

    directory = record(tmp_path, 1)
    path = directory / "stats.txt.xz"
    text = lzma.decompress(path.read_bytes()).replace(
        b"CUs.vALUInsts                      154200", b"CUs.vALUInsts 7"
    )
    path.write_bytes(lzma.compress(text))
    flags = tables.build([directory])["flags"].item()
    assert "instCyclesVALU = vALUInsts (of CUs), compute unit 0 (154200 against 7)" in flags


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "is damaged"),
        ('{"engine": "gem5"}', "lacks a key"),
        (json.dumps(run_record(statistics=None)), "without statistics"),
        (json.dumps(run_record(statistics="no.txt")), "are gone"),
        (json.dumps(batch_record()), "counters of a preview batch cannot be read"),
    ],
)
def test_bad_records(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(AnalysisError, match=message):
        tables.build([tmp_path])


def test_missing_record(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="no run record"):
        tables.build([tmp_path / "none"])


def test_the_same_point_twice(tmp_path: Path) -> None:
    directory = record(tmp_path, 1)
    with pytest.raises(AnalysisError, match="two records of the same point"):
        tables.build([directory, directory])


def _written(directory: Path) -> tuple[Path, Path, Path]:
    files = directory / "t.csv", directory / "t.parquet", directory / "t.columns.json"
    store.write(tables.build([record(directory / "runs", 1), record(directory / "runs", 4)]), *files)
    return files


def _flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_table_with_a_damaged_file_is_refused(tmp_path: Path, read: int, damaged: int) -> None:
    files = _written(tmp_path)
    store.read(files[read], whole=True)
    for at in range(5, files[damaged].stat().st_size, files[damaged].stat().st_size // 12):
        _flip(files[damaged], at)
        with pytest.raises(AnalysisError, match=r"t\.(csv|parquet|columns\.json)") as refused:
            store.read(files[read])
        assert "start the workflow again" in str(refused.value)
        _flip(files[damaged], at)
    store.read(files[read], whole=True)


def test_hashes_whose_names_are_damaged_are_refused(tmp_path: Path) -> None:
    """A bit of the name alone would make a table one of those that have no hashes."""
    files = _written(tmp_path)
    text = files[2].read_text()
    for name in ("sha256", "csv", "parquet", "columns"):
        at = text.rindex(f'"{name}"') + 2
        _flip(files[2], at)
        with pytest.raises(AnalysisError, match=r"t\.[a-z.]+"):
            store.read(files[0])
        _flip(files[2], at)
    store.read(files[0])


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"sha256": null}', "[" * 100_000])
def test_something_else_is_no_description(tmp_path: Path, text: str) -> None:
    files = _written(tmp_path)
    files[2].write_text(text)
    with pytest.raises(AnalysisError, match="no description of a table"):
        store.read(files[0])


def test_a_table_of_other_runs_beside_is_refused(tmp_path: Path) -> None:
    files = _written(tmp_path)
    store.write(tables.build([record(tmp_path / "other", 1)]), parquet=files[1])
    with pytest.raises(AnalysisError, match=r"t\.parquet.*|not as it was written"):
        store.read(files[0])


def test_a_table_that_the_workflow_did_not_write_is_no_part_of_a_report(tmp_path: Path) -> None:
    files = _written(tmp_path)
    content = json.loads(files[2].read_text())
    files[2].write_text(json.dumps({key: content[key] for key in content if key != "sha256"} | {"format": 1}))
    store.read(files[0])  # as versions before hashes wrote it
    with pytest.raises(AnalysisError, match="without hashes"):
        store.read(files[0], whole=True)
    files[2].unlink()
    store.read(files[0])
    with pytest.raises(AnalysisError, match="is gone"):
        store.read(files[0], whole=True)


def test_pages_of_parquet_have_checksums(tmp_path: Path) -> None:
    """A flipped bit in a page is found without the description beside it, however the column is stored."""
    _, parquet, description = _written(tmp_path)
    description.unlink()
    group = pq.ParquetFile(parquet).metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    stored = {(column.physical_type, column.encodings, column.compression): column for column in columns}
    assert len(stored) > 2
    for column in stored.values():
        start = column.dictionary_page_offset or column.data_page_offset
        at = start + column.total_compressed_size - 1  # the last byte of the column's last page
        _flip(parquet, at)
        with pytest.raises(AnalysisError, match="cannot read"):
            store.read(parquet)
        _flip(parquet, at)


def test_something_else_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(AnalysisError, match="not a result table"):
        store.read(path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(AnalysisError, match="cannot read"):
        store.read(tmp_path / "x.parquet")


def test_points_that_the_asking_sweep_does_not_name_keep_their_axes(tmp_path: Path) -> None:
    directories = [record(tmp_path, 1), record(tmp_path, 2)]
    frame = tables.build(
        directories, axes={("gem5-kernels", "u1-00000001"): {"num-compute-units": 1, "layer.n": 5}}
    )
    assert list(frame["num_compute_units"]) == [1, 2]
    assert frame["layer.n"].tolist()[0] == 5
    assert math.isnan(frame["layer.n"].tolist()[1])


@pytest.mark.parametrize("value", [3.2e304, -1e300, 2.0**53])
def test_an_axis_value_beyond_whole_numbers_stays_as_it_is(tmp_path: Path, value: float) -> None:
    """Found by damaging records: such a value ended in an OverflowError."""
    frame = tables.build([record(tmp_path, 4, axes={"n": value})])
    store.write(frame, tmp_path / "t.csv", tmp_path / "t.parquet", tmp_path / "t.columns.json")
    for name in ("t.csv", "t.parquet"):
        assert list(store.read(tmp_path / name)["n"]) == [value]
