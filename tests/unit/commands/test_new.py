"""``apuflow new``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.commands.new import write_study
from apuflow.configure import load_sweep, load_workload
from apuflow.core.errors import ConfigError
from apuflow.plan.points import points


def test_a_new_study_runs_as_it_is(root: Path) -> None:
    path = write_study("mine", root)
    assert len(points(load_sweep("mine", root), "softmax_fwd", root)) == 6
    with pytest.raises(ConfigError, match="there already"):
        write_study("mine", root)
    with pytest.raises(ConfigError, match="not a usable name"):
        write_study("../mine", root)
    assert path == root / "configs/sweeps/mine.yaml"


def test_the_command_says_what_is_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["new", "study", "mine"])
    assert done.exit_code == 0
    assert done.output.split("\n")[:2] == ["configs/sweeps/mine.yaml", "next: apuflow plan mine"]
    assert isinstance(CliRunner().invoke(build_app(), ["new", "study", "mine"]).exception, ConfigError)


def test_a_workload_of_kernels_shares_the_sources_of_the_one_that_it_is_like(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["new", "workload", "mine", "--like", "own_transpose"])
    assert done.exit_code == 0, done.output
    assert [file.name for file in (root / "configs/workloads").glob("mine*")] == ["mine.yaml"]
    assert load_workload("mine", root).title == "kernels of your own"


def test_a_file_of_triton_kernels(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    kernel = "import triton\n\n\n@triton.jit\ndef nothing(x_ptr):\n    pass\n"
    (root / "kernel.py").write_text(kernel)
    done = CliRunner().invoke(build_app(), ["new", "workload", "mine", "--from", "kernel.py"])
    assert done.exit_code == 0, done.output
    assert "next: fill them in, then apuflow check-kernels mine --gfx gfx90a --run" in done.output
