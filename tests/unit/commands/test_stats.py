"""``apuflow stats show`` and ``apuflow stats dispatches``."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from places import STATS
from run_records import run_record
from sweep_texts import HEAD, expand
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core import paths
from apuflow.engines.preview_batch import write_batch

SOFTMAX = STATS / "softmax_fwd-100x1000x1x1-u1.txt.xz"


def _run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(), [str(argument) for argument in arguments])
    return done.exit_code, done.output + str(done.exception or "")


def test_counters_of_a_file(tmp_path: Path) -> None:
    status, _ = _run("stats", "show", SOFTMAX, "--csv", tmp_path / "c.csv")
    assert status == 0
    written = pd.read_csv(tmp_path / "c.csv").set_index("counter")["value"]
    assert written["instructions"] == 293900
    assert written["gpu_active_ticks"] == 599689999


def test_selected_rows(tmp_path: Path) -> None:
    status, text = _run("stats", "show", SOFTMAX, "-s", "*.completedW*", "--csv", tmp_path / "c.csv")
    assert status == 0
    written = pd.read_csv(tmp_path / "c.csv").set_index("name")["value"]
    assert written.to_dict() == {"system.cpu3.CUs.completedWfs": 400, "system.cpu3.CUs.completedWGs": 100}
    status, text = _run("stats", "show", SOFTMAX, "-s", "*.nothing")
    assert status != 0 and "no row of the statistics matches" in text


def test_a_metric_is_found_by_its_name(tmp_path: Path) -> None:
    """293,900 instructions in 599,690 awake cycles of the one compute unit."""
    status, text = _run("stats", "show", SOFTMAX, "-s", "ipc", "--csv", tmp_path / "c.csv")
    assert status == 0 and "the file's identities hold" in text
    written = pd.read_csv(tmp_path / "c.csv").set_index("name")["value"]
    assert written["ipc"] == pytest.approx(293900 / 599690, rel=0.01)


def test_a_run_directory_stands_for_its_statistics(tmp_path: Path) -> None:
    (tmp_path / "stats.txt").write_bytes(lzma.decompress(SOFTMAX.read_bytes()))
    record = run_record(statistics="stats.txt")
    (tmp_path / "run.json").write_text(json.dumps(record))
    status, _ = _run("stats", "show", tmp_path, "--csv", tmp_path / "c.csv")
    assert status == 0
    assert pd.read_csv(tmp_path / "c.csv").set_index("counter")["value"]["instructions"] == 293900
    (tmp_path / "run.json").write_text(json.dumps(record | {"statistics": None, "status": "timeout"}))
    status, text = _run("stats", "show", tmp_path)
    assert status != 0 and "no statistics file of its own" in text


def test_a_file_that_breaks_an_identity(tmp_path: Path) -> None:
    text = lzma.decompress(SOFTMAX.read_bytes()).replace(
        b"CUs.vALUInsts                      154200", b"CUs.vALUInsts 7"
    )
    (tmp_path / "stats.txt").write_bytes(text)
    status, said = _run("stats", "show", tmp_path / "stats.txt")
    assert status == 1
    assert "instCyclesVALU = vALUInsts (of CUs), compute unit 0 (154200 against 7)" in said


def test_every_row_of_a_file_counts_for_its_identities(tmp_path: Path) -> None:
    """400 wavefronts' slots say 293,900; no counter needs the rows of the slots."""
    text = lzma.decompress(SOFTMAX.read_bytes())
    row = re.search(rb"CUs\.numInstrExecuted +293900", text)
    assert row is not None
    (tmp_path / "stats.txt").write_bytes(text.replace(row[0], row[0].replace(b"293900", b"193900")))
    for selected in ([], ["-s", "ipc"]):
        status, said = _run("stats", "show", tmp_path / "stats.txt", *selected)
        assert status == 1 and "identities hold" not in said
        assert "= numInstrExecuted (of CUs), compute unit 0 (293900 against 193900)" in said


@pytest.fixture
def run(tmp_path: Path) -> Path:
    names = ("softmax_fwd-100x1000x1x1-u4", "softmax_bwd-100x1000x1x1-u4")
    for name in names:
        shutil.copy(STATS / f"{name}.txt.xz", tmp_path)
    launches = [
        {
            "layer": "s",
            "layer_kind": "softmax",
            "direction": name[8:11],
            "kernel": "k",
            "grid": [64],
            "workgroup": [64],
        }
        for name in names
    ]
    record = run_record(launches=launches, statistics=[f"{name}.txt.xz" for name in names])
    (tmp_path / "run.json").write_text(json.dumps(record))
    return tmp_path


def test_dispatches_and_phases(run: Path, tmp_path: Path) -> None:
    assert _run("stats", "dispatches", run, "--csv", tmp_path / "d.csv")[0] == 0
    table = pd.read_csv(tmp_path / "d.csv")
    assert list(table["direction"]) == ["fwd", "bwd"]
    assert table["gpu_cycles"].iloc[0] == 198147
    assert _run("stats", "dispatches", run, "--by", "layer_kind", "--csv", tmp_path / "p.csv")[0] == 0
    assert list(pd.read_csv(tmp_path / "p.csv")["dispatches"]) == [2]
    status, text = _run("stats", "dispatches", run, "--by", "colour")
    assert status != 0 and "direction, layer_kind, layer" in text


def test_phases_of_a_preview_batch_say_whose_they_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = expand(root, HEAD + "axes: {num-compute-units: [1, 4], layer: {n: [10, 20]}}\n")
    record = root / paths.preview_record("t", "softmax_fwd")
    record.parent.mkdir(parents=True)
    write_batch(points, root / paths.preview_counters("t", "softmax_fwd"), record)
    monkeypatch.chdir(root)
    status, text = _run("stats", "dispatches", record.parent, "--by", "direction")
    assert status == 0
    said = [line.split(", direction")[0] for line in text.splitlines() if "direction" in line]
    assert said == [f"num_compute_units {units}, layer.n {n}" for units in (1, 4) for n in (10, 20)]
    assert max(map(len, text.splitlines())) <= 80
