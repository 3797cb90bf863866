"""One call of ``snakemake``: what the Snakefile needs of the project, and the project of Snakemake.

Together with ``repairs`` (Snakemake's files) and ``followers`` (its choice of jobs) this is all that knows
Snakemake's insides: its ``workflow`` object, its scheduler, its command line. None of that is documented, so
pyproject.toml keeps Snakemake below version 10; a new version is tried here.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from apuflow.campaign import followers, repairs, schedule, targets
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.result_sets import ResultSet, kind_of, result_sets
from apuflow.campaign.rule_inputs import RuleInputs
from apuflow.campaign.sampled import check_target
from apuflow.campaign.slurm_status import check_states_are_known
from apuflow.campaign.stage_lines import say_results
from apuflow.campaign.storage import Storage
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, EngineError


class Session:
    """Made by the Snakefile from Snakemake's ``workflow`` object, before any rule.

    In the process that the user started (each job reads the Snakefile again in its own), a killed workflow's
    lock is removed first and files from the future get another time.

    Attributes:
        campaign: sweeps and points of the project.
        inputs: what the rules of the expensive stages are made from.
        storage: what carries files between machines; None where they share the project's directory.

    Raises:
        SystemExit: with status 2, after the message: the command line names a result that no sweep has.
    """

    def __init__(self, workflow: Any, root: Path = Path()) -> None:
        self._workflow = workflow
        self._root = root
        self._registration = None
        stored = workflow.storage_settings.default_storage_provider is not None
        self.storage = Storage(workflow, root) if stored else None
        with _message_and_exit():
            targets.refuse_moved_paths(getattr(workflow, "modifier", None))
        if workflow.is_main_process:
            with _message_and_exit():
                targets.refuse_braces(root)
                check_writable(root)
            self._registration = repairs.register(root, storage=self.storage)
            repairs.repair_times(root)
        self.campaign = Campaign(root)
        if self.storage and workflow.is_main_process:
            self.storage.ship()
        self.inputs = RuleInputs(
            self.campaign, self._jobs_elsewhere, is_job=not workflow.is_main_process, storage=self.storage
        )
        if workflow.is_main_process:
            self.inputs.memory_mb = schedule.available_memory_mb()
        # workflow.dag_settings, which holds the targets, is None until the Snakefile has been read
        named = targets.targets_of(sys.argv[1:])
        self._arguments = sys.argv[1:] if named is None else named
        with _message_and_exit():
            if workflow.is_main_process and targets.is_ours_alone(workflow.main_snakefile):
                given = workflow.config_settings
                targets.refuse_configuration(given.config, given.configfiles)
                targets.refuse_unknown(self.campaign, named or ())
            check_targets(self.campaign, self._arguments)

    def sets(self, kind: str) -> list[ResultSet]:
        """What one job makes together of what this call wants (``result_sets.KINDS``)."""
        return result_sets(self.campaign, kind, self._arguments)

    def start(self) -> None:
        """Before the first job.

        Raises:
            SystemExit: with status 2, after the message: this machine lacks what the pending jobs need, or
                Slurm does not tell when a job has ended.
        """
        if not self._jobs_elsewhere():
            _lift_rate_limit(self._workflow.scheduler)
            _limit_memory(self._workflow.scheduler, self.inputs.memory_mb)
        elif self._registration:
            self._registration.jobs_elsewhere()
        with _message_and_exit():
            check_states_are_known(self._workflow.executor_settings)
        followers.keep(self._workflow.dag)
        self.inputs.orders.clean()
        with _message_and_exit():
            self.inputs.check_ready()

    def fail(self) -> None:
        """After the last job, where one has failed: put what storage has of failed runs into the project."""
        for point in self.inputs.to_run if self.storage else ():
            self.storage.bring_failed(**point)

    def _jobs_elsewhere(self) -> bool:
        return not self._workflow.local_exec

    def end(self) -> None:
        """After the last job: what was named is there, whatever Snakemake says. Orders of finished jobs go.

        Last comes where the results are.

        Raises:
            SystemExit: with status 2, after the message: a ``results/`` target is missing.
        """
        self.inputs.orders.clean()
        settings = self._workflow.dag_settings
        if not (settings.until or settings.omit_from or settings.batch):
            with _message_and_exit():
                for target in settings.targets if self.storage else ():
                    if not (self._root / target).exists():
                        self.storage.fetch(target)
                _check_results_exist(self._root, settings.targets)
        say_results(result_lines(settings.targets))


def check_writable(root: Path) -> None:
    """Refuse a project that this user cannot work in, where Snakemake would end with its own stack.

    Raises:
        EngineError: the directory, or something of Snakemake's state in it, is read-only or another user's.
    """
    state = root / paths.SNAKEMAKE
    places = [root] if not state.exists() else [state, *(path for path in state.iterdir() if path.is_dir())]
    for place in places:
        if not os.access(place, os.W_OK | os.X_OK):
            raise EngineError(
                f"user {_user(os.getuid())} cannot write here, where Snakemake keeps its state and its locks",
                file=place.absolute(),
                remedy=f"work in a copy of your own, or ask its owner ({_user(place.stat().st_uid)}) for the "
                "right to write; a disk that is mounted read-only needs `mount -o remount,rw`",
            )


def check_targets(campaign: Campaign, arguments: Iterable[str]) -> None:
    """Refuse a ``results/`` target that no sweep has, before anything is planned.

    Args:
        campaign: the project.
        arguments: the command line; what is no such target is passed over.

    Raises:
        ConfigError: unknown sweep, workload or figure (the known ones are listed), a figure that a
            sweep's axes do not allow, or a mistake in their files.
    """
    for argument in arguments:
        named = paths.target(argument)
        if named is None:
            continue
        sweep = campaign.sweep(named["under"])
        check_target(sweep, named)
        if "figure" in named:
            campaign.check_figure(named["figure"])
        elif "workload" not in named:
            campaign.figure_names(named["under"])
        asked = [*campaign.workloads(sweep), *campaign.shown(sweep)]
        for workload in [named["workload"]] if "workload" in named else dict.fromkeys(asked):
            campaign.points(sweep.name, workload)


def result_lines(made: Iterable[str]) -> list[str]:
    """Where the results of a call are: figures and tables first, then reports."""
    lines = []
    for path in sorted(made):
        named = paths.target(path)
        if named is None:
            continue
        kind = kind_of(named)
        if kind == "report":
            lines.append((1, f"tables: {paths.table(named['under'] or '', '*')}"))
        lines.append((2 if kind == "report" else 0, f"{kind}: {path}"))
    return [line for _, line in sorted(lines)]


def _check_results_exist(root: Path, wanted: Iterable[str]) -> None:
    for target in sorted(wanted):
        if paths.target(target) and not (root / target).exists():
            raise EngineError(
                "the workflow ended without this result",
                file=target,
                remedy=f"start it again; should it happen once more, {paths.SNAKEMAKE}/log has what it did",
            )


def _user(number: int) -> str:
    """A user's name; the number where it has none (in a container)."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(number).pw_name
    return str(number)


def _lift_rate_limit(scheduler: Any) -> None:
    """Take the limit on jobs per second off a scheduler whose jobs run on this machine.

    With it (its default, 100 per second) each look at the waiting jobs orders another look a second later,
    and each job that ends adds one more such chain: after some dozens of jobs one core does nothing but look
    as long as jobs wait (snakemake 9.27, ``JobScheduler.schedule``). The number of cores limits local jobs
    anyway; on a cluster, where the limit protects the queue, it stays.
    """
    scheduler.job_rate_limiter = None


def _limit_memory(scheduler: Any, limit: int | None) -> None:
    """Let the runs that go on at a time take no more memory than this machine has to give.

    ``--resources expected_mb=N`` sets another limit. (snakemake 9.27: ``JobScheduler.__init__`` copies the
    limits of the command line.)
    """
    if limit is not None:
        for resources in (scheduler.global_resources, scheduler.resources):
            resources.setdefault(schedule.MEMORY, limit)


@contextlib.contextmanager
def _message_and_exit() -> Iterator[None]:
    """End the process with our error's message and status 2, where Snakemake would print our stack."""
    try:
        yield
    except ApuflowError as error:
        print(f"apuflow: {error}", file=sys.stderr)
        raise SystemExit(2) from None
