"""Whether Snakemake's executor for Slurm hears of the end of its jobs."""

from __future__ import annotations

import shutil
from typing import Any

from apuflow.core.errors import EngineError
from apuflow.core.scheduler import ask

_LOOKS = 3
"""Times its first wait that squeue must know a job that has ended, or the executor does not trust it."""


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
