"""One call of ``snakemake``: what the Snakefile needs of the project, and the project of Snakemake.

Together with ``repairs`` (Snakemake's files) this is all that knows Snakemake's insides: its ``workflow``
object, its scheduler, its command line. None of that is documented, so pyproject.toml keeps Snakemake below
version 10; a new version is tried here.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from apuflow.campaign import repairs
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.rule_inputs import RuleInputs
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, EngineError


class Session:
    """Made by the Snakefile from Snakemake's ``workflow`` object, before any rule.

    In the process that the user started (each job reads the Snakefile again in its own), a killed workflow's
    lock is removed first and files from the future get another time.

    Attributes:
        campaign: sweeps and points of the project.
        inputs: what the rules of the expensive stages are made from.

    Raises:
        SystemExit: with status 2, after the message: the command line names a result that no sweep has.
    """

    def __init__(self, workflow: Any, root: Path = Path()) -> None:
        self._workflow = workflow
        self._root = root
        self._registration = None
        if workflow.is_main_process:
            self._registration = repairs.register(root)
            repairs.repair_times(root)
        self.campaign = Campaign(root)
        self.inputs = RuleInputs(self.campaign)
        with _message_and_exit():
            # workflow.dag_settings, which holds the targets, is None until the Snakefile has been read
            check_targets(self.campaign, sys.argv[1:])

    def start(self) -> None:
        """Before the first job.

        Raises:
            SystemExit: with status 2, after the message: this machine lacks what the pending jobs need.
        """
        if self._workflow.local_exec:
            _lift_rate_limit(self._workflow.scheduler)
        elif self._registration:
            self._registration.jobs_elsewhere()
        with _message_and_exit():
            self.inputs.check_ready()

    def end(self) -> None:
        """After the last job: what was named is there, whatever Snakemake says.

        Raises:
            SystemExit: with status 2, after the message: a ``results/`` target is missing.
        """
        settings = self._workflow.dag_settings
        if not (settings.until or settings.omit_from or settings.batch):
            with _message_and_exit():
                _check_results_exist(self._root, settings.targets)


def check_targets(campaign: Campaign, arguments: Iterable[str]) -> None:
    """Refuse a ``results/`` target that no sweep has, before anything is planned.

    Args:
        campaign: the project.
        arguments: the command line; what is no such target is passed over.

    Raises:
        ConfigError: unknown sweep, workload or figure (the known ones are listed), or a mistake in
            their files.
    """
    for argument in arguments:
        named = paths.target(argument)
        if named is None:
            continue
        sweep = campaign.sweep(named["under"])
        if "figure" in named:
            campaign.check_figure(named["figure"])
        for workload in [named["workload"]] if "workload" in named else campaign.workloads(sweep):
            campaign.points(sweep.name, workload)


def _check_results_exist(root: Path, targets: Iterable[str]) -> None:
    for target in sorted(targets):
        if paths.target(target) and not (root / target).exists():
            raise EngineError(
                "the workflow ended without this result",
                file=target,
                remedy=f"start it again; should it happen once more, {paths.SNAKEMAKE}/log has what it did",
            )


def _lift_rate_limit(scheduler: Any) -> None:
    """Take the limit on jobs per second off a scheduler whose jobs run on this machine.

    With it (its default, 100 per second) each look at the waiting jobs orders another look a second later,
    and each job that ends adds one more such chain: after some dozens of jobs one core does nothing but look
    as long as jobs wait (snakemake 9.27, ``JobScheduler.schedule``). The number of cores limits local jobs
    anyway; on a cluster, where the limit protects the queue, it stays.
    """
    scheduler.job_rate_limiter = None


@contextlib.contextmanager
def _message_and_exit() -> Iterator[None]:
    """End the process with our error's message and status 2, where Snakemake would print our stack."""
    try:
        yield
    except ApuflowError as error:
        print(f"apuflow: {error}", file=sys.stderr)
        raise SystemExit(2) from None
