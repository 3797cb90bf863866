"""Where Snakemake by itself would forget a job, wait for ever, or keep a core busy (snakemake 9.27)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apuflow.core.errors import EngineError
from apuflow.core.scheduler import ask

_LOOKS = 3
"""Times its first wait that squeue must know a job that has ended, or the executor does not trust it."""


def keep_followers(dag: Any) -> None:
    """Let a job without output run, though a running one has already written the ancient input it waits for.

    After a checkpoint Snakemake decides anew which jobs run. Whether a job that follows a running one runs,
    it asks that running job alone; if it then finds that all files between the two are ancient and there, it
    forgets the follower and all that need it, and the workflow ends well without its results (snakemake
    9.27, ``DAG.update_needrun``). A running job's files are there from when it writes them until its process
    has ended.

    Args:
        dag: Snakemake's jobs; its method ``update_needrun`` is replaced.
    """
    decide = dag.update_needrun

    async def decide_and_keep(*arguments: Any, **named: Any) -> None:
        taken = [file.flags for file in _awaited(dag) if file.flags.pop("ancient", False)]
        try:
            await decide(*arguments, **named)
        finally:
            for flags in taken:
                flags["ancient"] = True

    dag.update_needrun = decide_and_keep


def _awaited(dag: Any) -> Iterator[Any]:
    """Files that running jobs make for jobs whose output is not there; a group's jobs are none of ours."""
    for running in list(dag._running):
        for follower, files in dag.depending.get(running, {}).items():
            made = (
                file.storage_object.exists() if file.is_storage else Path(file).exists()
                for file in follower.output
            )
            if not all(made):
                yield from files


def lift_rate_limit(scheduler: Any) -> None:
    """Take the limit on jobs per second off a scheduler whose jobs run on this machine.

    With it (its default, 100 per second) each look at the waiting jobs orders another look a second later,
    and each job that ends adds one more such chain: after some dozens of jobs one core does nothing but look
    as long as jobs wait (snakemake 9.27, ``JobScheduler.schedule``). The number of cores limits local jobs
    anyway; on a cluster, where the limit protects the queue, it stays.
    """
    scheduler.job_rate_limiter = None


def check_states_are_known(settings: Any) -> None:
    """Refuse a way to follow jobs by which Snakemake would never hear that one has ended.

    Args:
        settings: of Snakemake's executor; of any executor but Slurm's, nothing is checked.

    ``sacct`` needs accounting (slurmdbd); the executor (snakemake-executor-plugin-slurm 2.8) takes it where
    it is installed. ``squeue`` knows a job that has ended for ``MinJobAge`` seconds; where these are too few,
    the executor uses ``sacct`` after all. If the controller does not answer, ``sbatch`` reports it.

    Raises:
        EngineError: with the option, or the setting of Slurm, that is needed.
    """
    if not type(settings).__module__.startswith("snakemake_executor_plugin_slurm"):
        return
    from snakemake_executor_plugin_slurm.job_status_query import get_min_job_age

    if shutil.which("sacct") is None or ask("sacct", "-n", "-X", "-S", "now") is not None:
        return
    age, needed = get_min_job_age(), _LOOKS * (settings.init_seconds_before_status_checks or 40)
    if age is None:
        return
    if age < needed:
        sooner = f"; or give --slurm-init-seconds-before-status-checks {age // _LOOKS} "
        sooner = f"{sooner}--slurm-status-command squeue" if age >= _LOOKS else ""
        raise EngineError(
            f"Slurm keeps no accounting (sacct fails) and forgets a job {age} seconds after its end: "
            "Snakemake would not hear that it has ended",
            key="MinJobAge",
            value=age,
            remedy=f"ask for slurmdbd, or for MinJobAge={needed} or more in slurm.conf{sooner}",
        )
    if settings.status_command != "squeue":
        raise EngineError(
            "Slurm keeps no accounting (sacct fails): Snakemake would wait for ever for the end of its jobs",
            key="--slurm-status-command",
            value=settings.status_command or "sacct",
            remedy="add --slurm-status-command squeue to the command, or to profiles/slurm/config.yaml as "
            "slurm-status-command: squeue",
        )
