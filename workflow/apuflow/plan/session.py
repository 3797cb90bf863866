"""One call of ``snakemake``: what the Snakefile needs of the project, and the project of Snakemake.

Together with ``repairs`` (Snakemake's files), ``workarounds`` and ``unready`` this is all that knows
Snakemake's insides: its ``workflow`` object, its scheduler, its command line. None of that is documented, so
pyproject.toml keeps Snakemake below version 10; a new version is tried here.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

from apuflow.core import paths, project
from apuflow.core.errors import ApuflowError
from apuflow.core.forked import Forks
from apuflow.plan import repairs, schedule, targets, workarounds
from apuflow.plan.campaign import Campaign
from apuflow.plan.runs import Runs
from apuflow.plan.storage import Storage

T = TypeVar("T")
Wildcards: TypeAlias = Mapping[str, str]
Inputs: TypeAlias = Callable[[Wildcards], T]


@contextlib.contextmanager
def _message_and_exit() -> Iterator[None]:
    """End the process with our error's message and status 2, where Snakemake would print our stack."""
    try:
        yield
    except ApuflowError as error:
        print(f"apuflow: {error}", file=sys.stderr)
        raise SystemExit(2) from None


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

    @_message_and_exit()
    def __init__(self, workflow: Any, root: Path = Path()) -> None:
        self._workflow = workflow
        self._root = root
        self._registration = None
        is_main = self._unchecked = workflow.is_main_process
        stored = workflow.storage_settings.default_storage_provider is not None
        self.storage = Storage(workflow, root) if stored else None
        targets.refuse_moved_paths(getattr(workflow, "modifier", None))
        if is_main:
            targets.refuse_braces(root)
            targets.check_writable(root)
            self._registration = repairs.register(root, storage=self.storage)
            repairs.repair_times(root)
        self.campaign = Campaign(root)
        self.runs = Runs(self.campaign, self._jobs_elsewhere, is_job=not is_main, storage=self.storage)
        if is_main:
            if self.storage:
                self.storage.ship()
            self.runs.memory_mb = schedule.available_memory_mb()
            # --resources gives another
            self._limits_memory = schedule.MEMORY not in workflow.global_resources
            if self._limits_memory:
                workflow.register_resource(schedule.MEMORY, self.runs.memory_mb)
        place = getattr(workflow, "current_basedir", None)  # of workflow/Snakefile
        scripts = Path(place.get_path_or_uri(secret_free=True)) / "scripts" if place else None
        # A module from a repository's address has its files in Snakemake's cache; the package has them, too.
        self._forks = Forks(
            scripts if scripts and scripts.is_dir() else project.place("workflow") / "scripts"
        )
        self.is_ours_alone = is_main and targets.is_ours_alone(workflow.main_snakefile)
        self.unknown_results = paths.unknown_result(str(root.absolute()), str(root.resolve()))
        if self.is_ours_alone:
            given = workflow.config_settings
            targets.refuse_configuration(given.config, given.configfiles)

    def checked(self, inputs: Inputs[T]) -> Inputs[T]:
        """An input function of a result's rule, before which all targets are checked, once."""

        def after_check(wildcards: Wildcards) -> T:
            if self._unchecked:
                self._unchecked = False
                with _message_and_exit():
                    targets.check_targets(self.campaign, self._workflow.dag_settings.targets)
            return inputs(wildcards)

        return after_check

    @_message_and_exit()
    def refuse_unknown(self, wildcards: Wildcards) -> NoReturn:
        """The input function of targets that look like results and are none.

        Raises:
            SystemExit: with status 2, after a message that names the nearest result.
        """
        targets.refuse_unknown(self.campaign, wildcards["unknown"])

    def run(self, script: str, log: Any, **names: Any) -> None:
        """Run a script of a rule whose work is short.

        Args:
            script: its name in ``workflow/scripts``.
            log: the rule's.
            names: ``input``, ``output``, ``wildcards``, ``threads`` of the rule, as the script needs them.
        """
        if self.storage:
            self.storage.bring_runs(names["input"])
        self._forks.run(script, elsewhere=self._workflow.is_main_process, log=log, **names)

    @_message_and_exit()
    def start(self) -> None:
        """Before the first job.

        Raises:
            SystemExit: with status 2, after the message: this machine lacks what the pending jobs need, or
                Slurm does not tell when a job has ended.
        """
        if not self._jobs_elsewhere():
            workarounds.lift_rate_limit(self._workflow.scheduler)
        else:
            if self._limits_memory:
                self._workflow.register_resource(schedule.MEMORY, sys.maxsize)
            if self._registration:
                self._registration.jobs_elsewhere()
        workarounds.check_states_are_known(self._workflow.executor_settings)
        workarounds.keep_followers(self._workflow.dag)
        self.runs.clean()
        self.runs.check_ready()

    def _jobs_elsewhere(self) -> bool:
        return not self._workflow.local_exec

    def fail(self) -> None:
        """After the last job, where one has failed: put what storage has of failed runs into the project."""
        if self.storage:
            self.storage.bring_runs(self.runs.planned())

    @_message_and_exit()
    def end(self) -> None:
        """After the last job: what was named is there, whatever Snakemake says. Its places are named last.

        Raises:
            SystemExit: with status 2, after the message: a ``results/`` target is missing.
        """
        self.runs.clean()
        settings = self._workflow.dag_settings
        if not (settings.until or settings.omit_from or settings.batch):
            if self.storage:
                self.storage.fetch_missing(settings.targets)
            targets.check_results_exist(self._root, settings.targets)
        logger = logging.getLogger("snakemake.logging")  # no other line comes between
        for line in targets.result_lines(settings.targets):
            logger.info(line, extra={"is_result": True})
