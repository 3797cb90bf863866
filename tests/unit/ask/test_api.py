"""The face of apuflow in Python, and the notebook that shows it."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import apuflow
from apuflow import preview
from apuflow.configure.option_rules import defaults
from apuflow.core.errors import ConfigError


def test_evaluate_is_the_preview(root: Path) -> None:
    options = {"num-compute-units": [4, 16], "num-tccs": 2}
    table = apuflow.evaluate("softmax_*", options, {"n": 10}, root=root)
    assert len(table) == 4 and set(table["num_tccs"]) == {2}
    (root / "configs/sweeps/t.yaml").write_text(
        "description: x\nengines: [preview]\nrelease: v23.0\nworkloads: [softmax_*]\n"
        "options: {num-tccs: 2}\nlayer: {n: 10}\naxes: {num-compute-units: [4, 16]}\n"
    )
    expected = preview.run(apuflow.points("t", root=root), defaults(preview.RELEASE))
    assert sorted(table["gpu_cycles"]) == sorted(expected["gpu_cycles"].round())
    assert apuflow.sweep("t", root).name == "t" and isinstance(apuflow.sweep("t", root), apuflow.Sweep)


def test_a_mistake_is_told_in_words(root: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean softmax_fwd"):
        apuflow.evaluate("sofmax_fwd", root=root)
    with pytest.raises(AttributeError, match="nothing"):
        _ = apuflow.nothing


def test_files_that_change_change_the_answer(root: Path) -> None:
    file = root / "configs/machines/apu-gfx801.yaml"
    assert apuflow.evaluate("softmax_fwd", root=root)["num_compute_units"].item() == 4
    file.write_text(file.read_text() + "  num-compute-units: 5\n")
    assert apuflow.evaluate("softmax_fwd", root=root)["num_compute_units"].item() == 5
    (root / "configs/workloads/mine_fwd.yaml").write_text(
        (root / "configs/workloads/softmax_fwd.yaml").read_text()
    )
    mine = apuflow.evaluate("mine_fwd", root=root)
    assert list(mine["gpu_cycles"]) == list(apuflow.evaluate("softmax_fwd", root=root)["gpu_cycles"])


def test_importing_apuflow_loads_nothing_else() -> None:
    code = "import sys, apuflow; print(*{'numpy', 'pandas', 'matplotlib', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_configuration_is_read_without_numpy() -> None:
    """NumPy takes a quarter of the time of a short command; only a judge of results needs it."""
    code = "import apuflow.configure, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_notebook_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells, one after the other."""
    monkeypatch.chdir(root)
    notebook = json.loads((ROOT / "docs/examples/ask.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    Path("notebook.py").write_text("\n".join(cells))
    space = runpy.run_path("notebook.py")
    assert len(space["table"]) == 10 and space["plot"].title == "Speedup over compute units"
    assert all("unmeasured: " in text for text in space["far"]["flags"])


def test_a_row_says_whose_facts_were_taken_for_a_release_that_nobody_has_read(root: Path) -> None:
    """v25.0 is read in part; barrier slots, which the preview uses, are v24.1's."""
    read, assumed = (
        apuflow.evaluate("softmax_fwd", machine="apu-gfx902", release=release, root=root)["flags"].item()
        for release in ("v24.1", "v25.0")
    )
    assert "known in part" not in read
    assert "v25.0 is known in part: " in assumed and "barrier_slots" in assumed and "as in v24.1" in assumed
