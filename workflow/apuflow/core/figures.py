"""Names of the figures. What they show stands in ``analysis.figures.registry``."""

from __future__ import annotations

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
