"""Snakemake finds loggers by packages of such a name; ``logger: [apuflow]`` in a profile chooses this one."""

from snakemake_logger_plugin_apuflow.stage_lines import LogHandler

__all__ = ["LogHandler"]
