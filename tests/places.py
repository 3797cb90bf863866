"""Where tests find the project and recorded files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The project."""
DATA = ROOT / "tests/data"
GEM5_RUNS = DATA / "gem5_runs"
STATS = GEM5_RUNS / "stats"
"""Statistics files of real gem5 runs."""
