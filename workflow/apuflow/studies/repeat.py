"""A study from its sweep to its verdicts."""

from __future__ import annotations

import fnmatch
import sys
from pathlib import Path

import pandas as pd

from apuflow.configure.loading import load_sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.workflow import run_workflow
from apuflow.plan.campaign import Campaign
from apuflow.studies.study import Study, TierName, load_study
from apuflow.studies.verdicts import Verdict, verdicts, write_page
from apuflow_analysis.tables import store


def repeat(
    name: str, tier: TierName, cores: int, root: Path = Path(), *, figures: bool = True
) -> tuple[list[Verdict], Path]:
    """Make the tables of a study's sweep, judge its statements, and write its page.

    Args:
        cores: for Snakemake; 0: all.
        figures: make the study's figures, too.

    Returns:
        The verdicts, and the page.

    Raises:
        ConfigError: no such study, a mistake in it, or the tier cannot repeat it.
        EngineError: Snakemake failed.
    """
    study = load_study(name, root)
    sweep = _sweep(study, tier, root)
    workloads = needed_workloads(study, tier, sweep, root)
    under = paths.under(sweep)
    tables = [paths.table(under, workload, "parquet") for workload in workloads]
    drawn = [paths.figure(under, figure) for figure in study.figures] if figures else []
    run_workflow([*tables, *drawn], root, cores, sys.stderr)
    frame = _combined([store.read(root / table, whole=True) for table in tables])
    found = verdicts(study, tier, frame)
    return found, write_page(study, tier, found, root)


def _sweep(study: Study, tier: TierName, root: Path) -> str:
    file, key = root / paths.study_file(study.name), f"tiers.{tier}"
    if tier not in study.tiers:
        remedy = f"--tier {next(iter(study.tiers))}, or give the study this tier"
        raise ConfigError("the study does not have this tier", file=file, key=key, remedy=remedy)
    how = study.tiers[tier]
    if how.sweep is None:
        others = [name for name, other in study.tiers.items() if other.sweep]
        remedy = f"--tier {others[0]}" if others else "give the tier a sweep"
        raise ConfigError(f"cannot be repeated: {how.cannot}", file=file, key=key, remedy=remedy)
    return how.sweep


def needed_workloads(study: Study, tier: TierName, sweep: str, root: Path) -> list[str]:
    """Workloads of the sweep that the statements read.

    Raises:
        ConfigError: a statement is about a workload that the sweep does not have.
    """
    known = Campaign(root).shown(load_sweep(sweep, root))
    needed: list[str] = []
    for name, statement in study.statements.items():
        for label, value in statement.values.items() if tier not in statement.cannot else ():
            own = fnmatch.filter(known, value.workload)
            if not own:
                raise ConfigError(
                    f"sweep {sweep} does not have this workload",
                    file=root / paths.study_file(study.name),
                    key=f"statements.{name}.values.{label}.workload",
                    value=value.workload,
                    remedy=f"one of {', '.join(known)}; or cannot: {{{tier}: why}}",
                )
            needed += own
    return list(dict.fromkeys(needed))


def _combined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    axes = dict.fromkeys(str(name) for frame in frames for name in frame.attrs.get("axes", ()))
    frame = pd.concat([each.copy() for each in frames], ignore_index=True)
    frame.attrs["axes"] = tuple(name for name in axes if name in frame.columns)
    return frame
