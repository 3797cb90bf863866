"""Names of the figures and of their files."""

from __future__ import annotations

from pathlib import Path

from apuflow.core.errors import ConfigError

FIGURE_NAMES = (
    "speedup",
    "cycles",
    "bound",
    "ipc",
    "occupancy",
    "eligible",
    "tcp_hit_rate",
    "tcc_hit_rate",
    "dram_bandwidth",
    "utilization",
    "stalls",
    "instruction_mix",
    "energy",
    "roofline",
    "heatmap",
    "engines",
    "releases",
    "kernels",
    "operations",
    "phases",
    "layers",
    "memory",
    "memory_images",
    "paper_statements",
    "dominant_kernels",
    "latency_ladder",
    "bandwidth_ladder",
    "ladder_numbers",
    "best_points",
    "pareto",
)

FORMATS = (".svg", ".png", ".csv")
"""File formats of each figure: two drawings and its numbers."""


def stem_of(file: Path) -> Path:
    """Path of a figure without extension, for a request of ``file``; ConfigError for an unknown extension."""
    if file.suffix in ("", *FORMATS):
        return file.with_suffix("")
    remedy = f"end the name in {', '.join(FORMATS)}, or in none: all of them are written"
    message = "figures are not written in this format"
    raise ConfigError(message, key="--figure", value=str(file), remedy=remedy)
