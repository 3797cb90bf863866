"""What the rules and tables of a sweep with ``sampling`` ask: which points ran, which results there are."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError


def simulated_points(table: Path) -> set[tuple[str, str]]:
    """Engine and name of each point that a sample has simulated.

    Args:
        table: of its operations (``paths.sampled``).

    Raises:
        ConfigError: it is not there yet.
    """
    try:
        with table.open(newline="", encoding="utf-8") as stream:
            return {(row["engine"], row["point"]) for row in csv.DictReader(stream) if row["measured"]}
    except FileNotFoundError:
        raise ConfigError(
            "the sample is not there yet", file=table, remedy=f"snakemake --cores all {table}"
        ) from None


def check_target(sweep: Sweep, named: Mapping[str, str]) -> None:
    """Refuse a result that a sweep has only without a sample, or only with one.

    Args:
        named: the target, as ``paths.target`` reads it.

    Raises:
        ConfigError: with the results that it has.
    """
    under, file = paths.under(sweep.name), paths.sweep_file(sweep.name)
    if sweep.sampling is None:
        if "sampled" in named:
            remedy = "add it, as in sampling: {bound: 0.1, budget: 0.6}"
            raise ConfigError("the sweep takes no sample", file=file, key="sampling", remedy=remedy)
        return
    result = named.get("figure") or named.get("workload", paths.OPERATIONS)
    if result != paths.OPERATIONS:
        raise ConfigError(
            "this result needs every operation, and the sweep takes a sample of them",
            file=file,
            key="sampling",
            value=result,
            remedy=f"{paths.report(under)} or {paths.sampled_totals(under)}; to run every operation, take "
            "sampling out of the file: what has run is not run again",
        )
