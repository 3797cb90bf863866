"""The committed figures of the recorded runs show what the preview says now."""

from __future__ import annotations

import re
import runpy

import pytest
from places import ROOT

PATHS = re.compile(r'<path d="([^"]*)" clip-path')
"""Curves and points inside the axes; names of elements, and texts, depend on matplotlib's version."""


def curves(svg: str) -> list[list[float]]:
    return [[float(number) for number in re.findall(r"-?[\d.]+", path)] for path in PATHS.findall(svg)]


def test_figures_are_of_this_preview() -> None:
    drawing = runpy.run_path(str(ROOT / "data/draw.py"))
    frame = drawing["runs"]()
    drawn = {ROOT / f"data/gem5_runs/figures/{name}.svg": svg for name, svg in drawing["by_primitive"](frame)}
    drawn[ROOT / "docs/pictures/scaling.svg"] = drawing["picture"](frame, 8.6, 4.6, 4)
    for file, svg in drawn.items():
        there, now = curves(file.read_text(encoding="utf-8")), curves(svg.decode())
        assert len(now) > 3
        assert len(there) == len(now), f"{file}: python data/draw.py"
        for old, new in zip(there, now, strict=True):
            assert old == pytest.approx(new, abs=0.5), f"{file}: python data/draw.py"
