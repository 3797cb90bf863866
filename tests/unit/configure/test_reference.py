"""Tables and examples of docs/configuration.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import (
    load_sweep,
)
from apuflow.configure.loading import suite_names
from apuflow.configure.reference import MODELS, options_text, refresh, suites_text
from apuflow.plan.points import points, sweep_workloads


def test_the_tables_of_the_documentation_are_those_of_the_models() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert text.count("<!-- generated: ") == text.count("<!-- end -->") == len(MODELS)
    assert refresh(text.replace("| **`engines`** |", "| `engine` |")) == text


def test_the_tables_of_operations_are_those_of_their_classes() -> None:
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert "| `gemm` |" in text


def test_the_tables_of_networks_are_what_their_steps_run_as(monkeypatch: pytest.MonkeyPatch) -> None:
    """ResNet-18 beside torchvision's 11.69 M parameters and 1.81 G multiply-adds."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs/networks.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    rows = {line.split("`")[1]: line for line in suites_text().splitlines()[2:]}
    assert list(rows) == list(suite_names(ROOT))
    assert rows["resnet18"].endswith(" | 11,689,512 | 1.814 G | 11.69 M, 1.81 G | 8 add |")


def test_the_example_of_the_documentation_is_a_sweep(root: Path) -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    (root / "configs/sweeps/t.yaml").write_text(example)
    sweep = load_sweep("t", root)
    assert sweep_workloads(sweep, root) == ["softmax_fwd"]
    assert len(points(sweep, "softmax_fwd", root)) == 10


def test_the_table_of_wrong_instructions_follows_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs/explanation/what-gem5-gets-wrong.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"


def test_the_table_of_options_gives_defaults_of_later_releases_and_joins_the_levels_of_tlbs() -> None:
    """``configs/common/GPUTLBOptions.py``: 32 ways, 64 in develop c91af552, 32 again in v25.0."""
    rows = [line.split(" | ") for line in options_text().splitlines()]
    meanings = {row[0].removeprefix("| "): row[-1] for row in rows}
    assert meanings["`L1TLBassoc: 32`, `L2TLBassoc: 32`, `L3TLBassoc: 32`"].endswith(
        " (v24.1: `64`, v25.0: `32`) |"
    )
    assert meanings["`reg-alloc-policy: simple`"].endswith(" (v22.0: `dynamic`) |")
    assert meanings["`num-cpus: 3`"].endswith(" (gem5: `1`) |")
    assert "`TLB-prefetch`" in meanings


def test_conformance_counts_follow_the_tables() -> None:
    text = (ROOT / "docs/howto/conformance.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
