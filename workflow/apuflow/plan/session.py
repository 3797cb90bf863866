"""One call of ``snakemake``: what the Snakefile needs of the project, and the project of Snakemake.

Together with ``repairs`` (Snakemake's files) and ``followers`` (its choice of jobs) this is all that knows
Snakemake's insides: its ``workflow`` object, its scheduler, its command line. None of that is documented, so
pyproject.toml keeps Snakemake below version 10; a new version is tried here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pwd
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

from apuflow.core import paths, project
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.forks import Forks
from apuflow.plan import followers, repairs, schedule, targets
from apuflow.plan.campaign import Campaign
from apuflow.plan.runs import Runs
from apuflow.plan.sampled import check_target
from apuflow.plan.slurm_status import check_states_are_known
from apuflow.plan.storage import Storage

T = TypeVar("T")
Wildcards: TypeAlias = Mapping[str, str]
Inputs: TypeAlias = Callable[[Wildcards], T]


class Session:
    """Made by the Snakefile from Snakemake's ``workflow`` object, before any rule.

    In the process that the user started (each job reads the Snakefile again in its own), a killed workflow's
    lock is removed first and files from the future get another time.

    Attributes:
        campaign: sweeps and points of the project.
        runs: what the rules of the expensive stages are made from.
        storage: what carries files between machines; None where they share the project's directory.

    Raises:
        SystemExit: with status 2, after the message: the project cannot be worked in, or is given --config.
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
        self.runs = Runs(
            self.campaign,
            self._jobs_elsewhere,
            is_job=not workflow.is_main_process,
            storage=self.storage,
        )
        if workflow.is_main_process:
            if self.storage:
                self.storage.ship()
            self.runs.memory_mb = schedule.available_memory_mb()
            self._limits_memory = (
                schedule.MEMORY not in workflow.global_resources
            )  # --resources gives another
            if self._limits_memory:
                workflow.register_resource(schedule.MEMORY, self.runs.memory_mb)
        place = getattr(workflow, "current_basedir", None)  # of workflow/Snakefile
        directory = Path(place.get_path_or_uri(secret_free=True)) if place else project.place("workflow")
        self._forks = Forks(directory / "scripts")
        self._unchecked = workflow.is_main_process
        self.is_ours_alone = workflow.is_main_process and targets.is_ours_alone(workflow.main_snakefile)
        self.unknown_results = paths.unknown_result(str(root.absolute()), str(root.resolve()))
        if self.is_ours_alone:
            given = workflow.config_settings
            with _message_and_exit():
                targets.refuse_configuration(given.config, given.configfiles)

    def checked(self, inputs: Inputs[T]) -> Inputs[T]:
        """An input function of a result's rule, before which all targets are checked, once."""

        def after_check(wildcards: Wildcards) -> T:
            if self._unchecked:
                self._unchecked = False
                with _message_and_exit():
                    check_targets(self.campaign, self._workflow.dag_settings.targets)
            return inputs(wildcards)

        return after_check

    def refuse_unknown(self, wildcards: Wildcards) -> NoReturn:
        """The input function of targets that look like results and are none.

        Raises:
            SystemExit: with status 2, after a message that names the nearest result.
        """
        with _message_and_exit():
            targets.refuse_unknown(self.campaign, wildcards["unknown"])

    def run(self, script: str, log: Any, **names: Any) -> None:
        """Run a script of a rule whose work is short.

        Args:
            script: its name in ``workflow/scripts``.
            log: the rule's.
            names: ``input``, ``output``, ``wildcards``, ``threads`` of the rule, as the script needs them.
        """
        self._forks.run(script, elsewhere=self._workflow.is_main_process, log=log, **names)

    def start(self) -> None:
        """Before the first job.

        Raises:
            SystemExit: with status 2, after the message: this machine lacks what the pending jobs need, or
                Slurm does not tell when a job has ended.
        """
        if not self._jobs_elsewhere():
            lift_rate_limit(self._workflow.scheduler)
        else:
            if self._limits_memory:
                self._workflow.register_resource(schedule.MEMORY, sys.maxsize)
            if self._registration:
                self._registration.jobs_elsewhere()
        with _message_and_exit():
            check_states_are_known(self._workflow.executor_settings)
        followers.keep(self._workflow.dag)
        self.runs.clean()
        with _message_and_exit():
            self.runs.check_ready()

    def _jobs_elsewhere(self) -> bool:
        return not self._workflow.local_exec

    def fail(self) -> None:
        """After the last job, where one has failed: put what storage has of failed runs into the project."""
        if self.storage:
            for point in self.runs.planned():
                self.storage.bring_failed(point.engine, point.workload, point.id)

    def end(self) -> None:
        """After the last job: what was named is there, whatever Snakemake says. Its places are named last.

        Raises:
            SystemExit: with status 2, after the message: a ``results/`` target is missing.
        """
        self.runs.clean()
        settings = self._workflow.dag_settings
        if not (settings.until or settings.omit_from or settings.batch):
            with _message_and_exit():
                if self.storage:
                    self.storage.fetch_missing(settings.targets)
                _check_results_exist(self._root, settings.targets)
        for line in result_lines(settings.targets):  # by Snakemake's logger: no other line comes between
            logging.getLogger("snakemake.logging").info(line, extra={"is_result": True})


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


def check_targets(campaign: Campaign, named_targets: Iterable[str]) -> None:
    """Refuse a ``results/`` target that no sweep has, before anything is planned.

    Args:
        campaign: the project.
        named_targets: of the command line; what is none of ``results/`` is passed over.

    Raises:
        ConfigError: unknown sweep, workload or figure (the known ones are listed), a figure that a
            sweep's axes do not allow, or a mistake in their files.
    """
    for target in named_targets:
        named = paths.target(target)
        if named is None:
            continue
        sweep = campaign.sweep(named["under"])
        check_target(sweep, named)
        if "figure" in named:
            campaign.check_figure(named["figure"])
        elif "workload" not in named:
            campaign.figure_names(named["under"])
        workloads = [*campaign.workloads(sweep), *campaign.shown(sweep)]
        for workload in [named["workload"]] if "workload" in named else dict.fromkeys(workloads):
            campaign.points(sweep.name, workload)


def kind_of(named: Mapping[str, str]) -> str:
    """What a results file is: table, figure or report.

    Args:
        named: of ``paths.target``.
    """
    is_table = "workload" in named or "sampled" in named
    return "table" if is_table else "figure" if "figure" in named else "report"


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


def lift_rate_limit(scheduler: Any) -> None:
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
