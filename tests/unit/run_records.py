"""Run records as the workflow writes them, with what a test is about changed."""

from __future__ import annotations

import json
from typing import Any

from places import DATA

RECORDS = DATA / "records"
"""Text of the writers of 2026-11-21: a proven run, a failed one, a preview batch."""


def run_record(**changes: Any) -> dict[str, Any]:
    """A completed run of engine gem5-kernels, of which nothing is known about kernels and sources."""
    content = json.loads((RECORDS / "run.json").read_text())
    return {**content, "launches": [], "results": None, "provenance": {}, **changes}


def batch_record(**changes: Any) -> dict[str, Any]:
    """A preview batch of a convolution over numbers of images and compute units."""
    return {**json.loads((RECORDS / "preview.json").read_text()), **changes}
