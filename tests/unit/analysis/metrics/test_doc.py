"""docs/metrics.md."""

from __future__ import annotations

from places import ROOT

from apuflow_analysis.metrics.doc import render


def test_the_document_is_in_step() -> None:
    assert (ROOT / "docs/metrics.md").read_text() == render(), "run python -m apuflow_analysis.metrics.doc"
