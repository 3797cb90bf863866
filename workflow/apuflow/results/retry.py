"""Release recorded failures for another try: with ``on_failure: record`` a failed point counts as done."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from apuflow.configure import sweep_names
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.record import Status
from apuflow.plan.campaign import Campaign
from apuflow.run.status import Run, RunState, runs


def recorded_failures(
    project: Path, *, sweep: str | None = None, workload: str | None = None, outcomes: Collection[str] = ()
) -> Iterator[Run]:
    """Failed runs whose record keeps them from being tried again; running and proven ones are none of them.

    Args:
        sweep, workload: only points of these, of the sweep as it is now.
        outcomes: only with these statuses, such as ``timeout``; empty: any.

    Raises:
        ConfigError: there is no such sweep or status.
    """
    known = [status.value for status in Status if status is not Status.COMPLETED]
    for outcome in set(outcomes).difference(known):
        remedy = f"one of {', '.join(known)}"
        raise ConfigError("not a status of a failed run", value=outcome, remedy=remedy)
    chosen = sweep_points(project, sweep) if sweep is not None else None
    for run in runs(project):
        if (
            run.state is RunState.FAILED
            and _record(project, run).exists()
            and workload in (None, run.workload)
            and (not outcomes or run.outcome in outcomes)
            and (chosen is None or run.key in chosen)
        ):
            yield run


def release_for_rerun(project: Path, run: Run) -> None:
    """Take a failure's record away, so that the next start of the workflow tries the point once more.

    Logs and evidence stay below ``attempts/``, whose ``failure.json`` says what the record said. Tables that
    have the failure's row go, and the figures and the report made of them: while they are there, Snakemake
    asks for no record. The next start makes them again.
    """
    record = _record(project, run)
    kept = run.log / "failure.json" if run.log.is_dir() else record.with_name("run.json.unreadable")
    for file in _results_of(project, run):
        file.unlink(missing_ok=True)
    if kept.exists():
        record.unlink()
    else:
        record.rename(kept)


def _results_of(project: Path, run: Run) -> Iterator[Path]:
    """Files made of tables that have the run's row."""
    for under in map(paths.under, sweep_names(project)):
        table = project / paths.table(under, run.workload)
        if table.exists() and run.point in table.read_text(encoding="utf-8"):
            for made in (paths.report, paths.sampled, paths.sampled_totals):
                yield project / made(under)
            yield from (project / paths.figure(under, "all")).parent.glob("*.*")
            yield project / paths.table(under, run.workload, "parquet")
            yield project / paths.table_columns(under, run.workload)
            yield table


def _record(project: Path, run: Run) -> Path:
    return project / paths.run_record(*run.key)


def sweep_points(project: Path, name: str) -> set[tuple[str, str, str]]:
    """Engine, workload and point of all that a sweep asks for as it is now.

    Raises:
        ConfigError: there is no such sweep, or its file is wrong.
    """
    campaign = Campaign(project)
    return {
        (point.engine, workload, point.id)
        for workload in campaign.workloads(campaign.load(name))
        for point in campaign.points(name, workload)
    }
