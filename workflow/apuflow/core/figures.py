"""Names of the figures and of their files. What they show stands in ``apuflow_analysis.figures.registry``."""

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
    "best_points",
    "pareto",
)

FORMATS = (".svg", ".png", ".csv")
"""What is written of each figure: twice the drawing, and its numbers."""


def stem_of(file: Path) -> Path:
    """The path without extension, under which a figure that is asked for as ``file`` is written.

    Raises:
        ConfigError: an extension that figures are not written in.
    """
    if file.suffix in ("", *FORMATS):
        return file.with_suffix("")
    raise ConfigError(
        "figures are not written in this format",
        key="--figure",
        value=str(file),
        remedy=f"end the name in {', '.join(FORMATS)}, or in none: all of them are written",
    )
