"""Run records: what the workflow has written is read in full, anything else is refused with its place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from run_records import RECORDS, batch_record, run_record

from apuflow.core.errors import AnalysisError
from apuflow.core.record import BatchRecord, LaunchRecord, RunRecord, Status, read, read_run
from apuflow.engines.preview_batch import write_batch
from apuflow.plan.campaign import Campaign


def written(directory: Path, content: Any) -> Path:
    (directory / "run.json").write_text(json.dumps(content))
    return directory / "run.json"


# what has been written --------------------------------------------------------------------------------------
def test_a_proven_run() -> None:
    record = read_run(RECORDS / "run.json")
    assert (record.engine, record.workload, record.direction) == ("gem5-kernels", "conv_fwd", "fwd")
    assert record.point == "v23.0_u4_n2-931a707f"
    assert record.status is Status.COMPLETED
    assert record.axes == {"layer.n": 2, "num-compute-units": 4}
    assert record.options["gpu-clock"] == "1GHz" and record.options["dgpu"] is False
    assert record.engine_version == "2"
    assert record.provenance.gem5_version == "23.0.1.0"
    assert record.statistics_files("there") == (Path("there/stats.txt"),)
    assert [(one.kernel, one.workgroups, one.stand_in) for one in record.launches] == [
        ("Im2d2Col", 768, None),
        ("sgemm", 4096 * 2, "rocBLAS"),
    ] * 2
    assert record.results is not None and record.results.max_relative_error == 1.9073486e-07


def test_a_failed_run() -> None:
    record = read_run(RECORDS / "failed.json")
    assert (record.status, record.exit_code) == (Status.GEM5_PANIC, 134)
    assert "General-Protection" in record.evidence
    assert record.statistics_files("there") == ()
    assert record.engine_version is None


def test_a_preview_batch() -> None:
    record = read(RECORDS / "preview.json")
    assert isinstance(record, BatchRecord)
    assert (record.engine, record.workload, record.points) == ("preview", "conv_fwd", 4)
    assert record.axes == {"layer.n": (2, 4), "num-compute-units": (4, 8)}
    assert record.engine_version == record.provenance.preview_version == "5"


@pytest.mark.parametrize("name", ["run.json", "failed.json", "preview.json"])
def test_what_is_read_is_written_byte_for_byte(tmp_path: Path, name: str) -> None:
    """Nothing that an older record says is lost, renamed or moved."""
    read(RECORDS / name).write(tmp_path / "run.json")
    written = (tmp_path / "run.json").read_text()
    for later in (
        ' "release_facts": null,\n',
        '  "gem5_patches": null,\n',
        '  "launcher_sha256": null,\n',
        ' "dispatches": [],\n',
    ):
        written = written.replace(later, "")
    changed, ran = r'"library": null,\n +"changed": null', r'"ran": null,\n +"kept_whole": null'
    for later in (r'"matrix": null', r'"weight": null', changed, ran):
        written = re.sub(rf",\n +{later}", "", written)
    assert written == (RECORDS / name).read_text()


def test_a_preview_writes_what_is_read(tmp_path: Path) -> None:
    points = Campaign(ROOT).points("quickstart", "softmax_fwd")
    write_batch(points, tmp_path / "counters.parquet", tmp_path / "run.json")
    record = read(tmp_path / "run.json")
    assert isinstance(record, BatchRecord)
    assert record.points == len(points)
    assert list(json.loads((tmp_path / "run.json").read_text())) == list(batch_record())
    for axis, values in record.axes.items():
        assert set(values) == {point.axes[axis] for point in points}


def test_keys_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    later = run_record(weather="fine", provenance={"moon": "full", "mmap_bytes": 4096})
    record = read_run(written(tmp_path, later))
    assert record.provenance.mmap_bytes == 4096
    assert not hasattr(record, "weather")


# what is no record ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "said", "key"),
    [
        ({**run_record(), "format": 2}, "a format that this version does not know", "format"),
        ({**batch_record(), "format": 2}, "a format that this version does not know", "format"),
        ({"engine": "gem5"}, "lacks a key", "workload"),
        ({"engine": "preview"}, "lacks a key", "workload"),
        ({key: value for key, value in run_record().items() if key != "point"}, "lacks a key", "point"),
        (batch_record(provenance={}), "lacks a key", "provenance.preview_version"),
        (run_record(status="fine"), "is damaged", "status"),
        (run_record(wall_seconds="3"), "is damaged", "wall_seconds"),
        (run_record(peak_memory_bytes=True), "is damaged", "peak_memory_bytes"),
        (run_record(options={"num-compute-units": [4]}), "is damaged", "options.num-compute-units"),
        (run_record(provenance={"gem5_commit": 4}), "is damaged", "provenance.gem5_commit"),
        (batch_record(axes={"layer.n": [1, {}]}), "is damaged", "axes.layer.n.1"),
        (batch_record(axes=["layer.n"]), "is damaged", "axes"),
        (run_record(launches=[{"kernel": "k", "grid": [4]}]), "lacks a key", "launches.0.workgroup"),
        (
            run_record(launches=[{"kernel": "k", "grid": [4], "workgroup": [0]}]),
            "is damaged",
            "launches.0.workgroup.0",
        ),
        (
            run_record(launches=[{"kernel": "k", "grid": [4, 1], "workgroup": [4]}]),
            "number of dimensions",
            "launches.0",
        ),
        (run_record(statistics="../other/stats.txt"), "no file of its own directory", "statistics"),
        (run_record(statistics=["stats.txt", ".."]), "no file of its own directory", "statistics"),
        ([], "has no keys", None),
        (None, "has no keys", None),
    ],
)
def test_a_damaged_record_is_refused_with_its_place(
    tmp_path: Path, content: Any, said: str, key: str | None
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(AnalysisError, match=said) as caught:
        read(file)
    assert (caught.value.file, caught.value.key) == (str(file), key)
    assert caught.value.remedy


def test_half_a_record_and_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    whole = (RECORDS / "run.json").read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"PAR1\x00\xff", b"[" * 100_000):
        file.write_bytes(content)
        with pytest.raises(AnalysisError, match="is not JSON") as caught:
            read(file)
        assert caught.value.file == str(file) and caught.value.remedy
    with pytest.raises(AnalysisError, match="no run record here: No such file"):
        read(tmp_path / "absent.json")


def test_a_batch_is_not_taken_for_a_run() -> None:
    with pytest.raises(AnalysisError, match="record of a preview batch"):
        read_run(RECORDS / "preview.json")


def test_a_record_is_not_made_with_a_wrong_value() -> None:
    with pytest.raises(ValueError, match="grid"):
        LaunchRecord(kernel="k", grid=(0, 1, 1), workgroup=(1, 1, 1))
    with pytest.raises(ValueError, match="status"):
        RunRecord(**run_record(status="fine"))


def test_reading_a_record_loads_no_tables() -> None:
    code = (
        "import sys, apuflow.core.record; print(*{'numpy', 'pandas', 'apuflow_analysis'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
