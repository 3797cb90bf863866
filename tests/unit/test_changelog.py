"""Fragments of changelog.d and the sections that towncrier makes of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from places import ROOT


def test_a_fragment_becomes_the_newest_section(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    fragment = tmp_path / "changelog.d/+speed.changed.md"
    fragment.parent.mkdir()
    fragment.write_text("Tables are made faster.\n")
    command = [
        sys.executable,
        "-m",
        "towncrier",
        "build",
        "--yes",
        "--version",
        "9.0.0",
        "--date",
        "2030-01-02",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "CHANGELOG.md").read_text()
    section = "## 9.0.0 (2030-01-02)\n\n### Changed\n\n- Tables are made faster.\n"
    assert 0 < text.find(section) < text.index("## 0.1.0")
    assert not fragment.exists()


def test_every_fragment_has_a_kind_that_towncrier_knows() -> None:
    kinds = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    known = {kind["directory"] for kind in kinds}
    assert len(known) == 5
    assert {file.stem.rpartition(".")[2] for file in (ROOT / "changelog.d").glob("*.md")} <= known
