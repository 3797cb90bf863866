"""The committed figures of the recorded runs show what the preview says now."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import sys
from typing import Any

import needs
import pytest
from places import ROOT

PATHS = re.compile(r'<path d="([^"]*)" clip-path')
"""Curves and points inside the axes; names of elements, and texts, depend on matplotlib's version."""


def curves(svg: str) -> list[list[float]]:
    return [[float(number) for number in re.findall(r"-?[\d.]+", path)] for path in PATHS.findall(svg)]


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The command that makes all pictures, as a module."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "data"), *sys.path])
    return runpy.run_path(str(ROOT / "data/draw.py"))


def test_the_picture_of_a_report_is_of_this_preview_and_this_report(drawing: dict[str, Any]) -> None:
    report = drawing["report_picture"]
    told = json.loads(report.NUMBERS.read_text(encoding="utf-8"))
    picture = report.PICTURE.read_bytes()
    assert hashlib.sha256(picture).hexdigest() == told.pop("sha256"), "python data/draw.py"
    assert len(picture) < 300_000
    assert told == report.numbers(report.table()), "python data/draw.py"


def test_the_browser_takes_the_picture_again(drawing: dict[str, Any]) -> None:
    report = drawing["report_picture"]
    picture = report.take(report.table(), needs.BROWSER.required_program())
    assert picture.startswith(b"\x89PNG") and len(picture) > 20_000


def test_figures_are_of_this_preview(drawing: dict[str, Any]) -> None:
    frame = drawing["runs"]()
    drawn = {ROOT / f"data/gem5_runs/figures/{name}.svg": svg for name, svg in drawing["by_primitive"](frame)}
    drawn[ROOT / "docs/pictures/scaling.svg"] = drawing["picture"](frame, 8.6, 4.6, 4)
    for file, svg in drawn.items():
        there, now = curves(file.read_text(encoding="utf-8")), curves(svg.decode())
        assert len(now) > 3
        assert len(there) == len(now), f"{file}: python data/draw.py"
        for old, new in zip(there, now, strict=True):
            assert old == pytest.approx(new, abs=0.5), f"{file}: python data/draw.py"
