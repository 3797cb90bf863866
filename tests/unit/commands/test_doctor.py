"""``apuflow doctor``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from places import ROOT
from typer.testing import CliRunner

from apuflow.cli import build_app


def test_the_doctor_command_ends_with_1_where_gem5_cannot_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    result = CliRunner().invoke(build_app(), ["doctor", "--offline"])
    assert result.exit_code == 1, result.output
    assert "MISSING  container engine" in result.output
    assert "gem5          not ready: place of runs, container engine" in result.output
    assert "preview       ready" in result.output
    cores = len(os.sched_getaffinity(0))
    last = result.output.splitlines()[-1]
    assert last == f"runs here now: snakemake --cores {cores} results/quickstart/report.html"
    assert CliRunner().invoke(build_app(), ["doctor", "--offline", "--engine", "preview"]).exit_code == 0
    assert CliRunner().invoke(build_app(), ["doctor", "--offline", "--engine", "gem6"]).exit_code == 2
