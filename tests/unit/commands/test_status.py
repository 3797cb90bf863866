"""``apuflow status``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_records import batch_record, run_record
from run_states import write_one_of_each
from sweep_texts import expand
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core import paths
from apuflow.core.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_one_of_each(tmp_path)
    return tmp_path


def test_the_status_command_names_the_evidence_and_ends_with_1(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "400")
    result = CliRunner().invoke(build_app(), ["status"])
    assert result.exit_code == 1
    for text in (
        "the later one",
        "wall limit",
        "1 completed, 1 running, 3 failed, 1 lost",
        ">5e+09",
        "[Softmax]",
    ):
        assert text in result.output
    only = CliRunner().invoke(build_app(), ["status", "--failed"]).output
    assert "a-completed" not in only
    assert "b-failed" in only


def test_status_without_runs_says_how_to_start(tmp_path: Path) -> None:
    command: list[str | Path] = [Path(sys.executable).with_name("apuflow"), "status"]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "snakemake --cores" in done.stdout


def test_preview_batches_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for sweep, workload in (("quickstart", "conv_fwd"), ("memory", "conv_fwd"), ("memory", "pool_fwd")):
        record = tmp_path / paths.preview_record(sweep, workload)
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps(batch_record(workload=workload, points=1234)))
    result = CliRunner().invoke(build_app(), ["status", "--workload", "conv_fwd"])
    assert result.exit_code == 0
    assert [line.split(" points")[0] for line in result.output.splitlines()] == [
        "preview memory/conv_fwd: 1,234",
        "preview quickstart/conv_fwd: 1,234",
    ]
    told = json.loads(CliRunner().invoke(build_app(), ["status", "--workload", "conv_fwd", "--json"]).stdout)
    assert [(row["engine"], row["point"], row["state"]) for row in told] == [
        ("preview", "memory", "completed"),
        ("preview", "quickstart", "completed"),
    ]


def test_status_of_one_sweep(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that is done, one that has no run yet, and another sweep's run and preview."""
    asked = "description: x\nengines: [gem5]\nworkloads: [softmax_fwd]\naxes: {num-compute-units: [4, 8]}\n"
    done, _ = expand(root, asked, name="mine")
    for point in (done.id, "u99-another"):
        record = root / paths.run_record("gem5", "softmax_fwd", point)
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps(run_record(engine="gem5", workload="softmax_fwd", point=point)))
    preview = root / paths.preview_record("memory", "softmax_fwd")
    preview.parent.mkdir(parents=True)
    preview.write_text(json.dumps(batch_record(workload="softmax_fwd")))
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(build_app(), ["status", "mine"])
    assert result.exit_code == 0
    assert done.id in result.output and "another" not in result.output and "preview" not in result.output
    assert "1 point of sweep mine without a run yet" in result.output
    with pytest.raises(ConfigError, match="did you mean mine"):
        CliRunner().invoke(build_app(), ["status", "mien"], catch_exceptions=False)


def test_a_workload_that_nothing_knows_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "configs/workloads").mkdir(parents=True)
    (project / "configs/workloads/softmax_bwd.yaml").touch()
    asked = CliRunner().invoke(build_app(), ["status", "--workload", "sofmax_bwd"])
    assert isinstance(asked.exception, ConfigError)
    assert "did you mean softmax_bwd?" in str(asked.exception)
    assert CliRunner().invoke(build_app(), ["status", "--workload", "softmax_bwd"]).exit_code == 0


def test_the_table_fits_80_columns(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(build_app(), ["status"]).output.splitlines()
    assert max(map(len, lines)) <= 80
    assert "gem5/softmax_fwd/b-failed" in lines
    assert "  completed          2026-11-21 00:00   60 s   6e+09    1e+08  2.00 GB" in lines
