"""Snakemake finds loggers by packages of such a name; ``logger: [apuflow]`` in a profile chooses this one."""

from apuflow.plan.stage_lines import LogHandler

__all__ = ["LogHandler"]
