"""``apuflow explain``: command lines as people paste them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_machine


def test_a_line_may_begin_with_its_first_option(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    line = "--num-compute-units=32 --gfx-version=gfx900 --dgpu -n3"
    done = CliRunner().invoke(build_app(), ["explain", line, "--release", "v24.0", "--machine", "mine"])
    assert done.exit_code == 0, done.output
    assert load_machine("mine", root).options["num-compute-units"] == 32
