"""``apuflow plan``, ``new`` and ``workloads``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ConfigError


def test_commands(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    app, runner = build_app(), CliRunner()
    shown = runner.invoke(app, ["plan", "quickstart", "softmax_fwd"])
    assert shown.exit_code == 0 and "u64-" in shown.output and "7 points, 0 done" in shown.output
    listed = json.loads(runner.invoke(app, ["plan", "quickstart", "pool_bwd", "--json"]).output)
    assert len(listed["workloads"][0]["points"]) == 7 and listed["workloads"][0]["warnings"]
    assert "unproven" in runner.invoke(app, ["workloads"]).output
    assert "transposed" not in runner.invoke(app, ["workloads", "conv_fwd"]).output
    assert isinstance(runner.invoke(app, ["plan", "nosuch"]).exception, ConfigError)
    assert isinstance(runner.invoke(app, ["plan", "quickstart", "dropout_fwd"]).exception, ConfigError)
    assert runner.invoke(app, ["new", "study", "mine"]).exit_code == 0
    assert "4.0 GB" not in runner.invoke(app, ["plan", "mine"]).output
