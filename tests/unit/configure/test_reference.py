"""Tables and examples of docs/configuration.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import (
    load_sweep,
)
from apuflow.configure.loading import suite_names
from apuflow.configure.reference import MODELS, refresh
from apuflow.plan.points import points, sweep_workloads


def test_the_tables_of_the_documentation_are_those_of_the_models() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert text.count("<!-- generated: ") == text.count("<!-- end -->") == len(MODELS) + 3
    assert refresh(text.replace("| `engines` |", "| `engine` |")) == text


def test_the_tables_of_operations_are_those_of_their_classes() -> None:
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert "| `gemm` |" in text


def test_the_table_of_suites_is_what_their_steps_run_as(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs/networks.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert all(f"| `{name}` | " in text for name in suite_names(ROOT))


def test_the_example_of_the_documentation_is_a_sweep(root: Path) -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    (root / "configs/sweeps/t.yaml").write_text(example)
    sweep = load_sweep("t", root)
    assert sweep_workloads(sweep, root) == ["softmax_fwd"]
    assert len(points(sweep, "softmax_fwd", root)) == 10
