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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apuflow.campaign import followers, repairs, schedule
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.rule_inputs import RuleInputs
from apuflow.campaign.sampled import check_target
from apuflow.campaign.stage_lines import say_results
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, ConfigError, EngineError


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
            with _message_and_exit():
                check_writable(root)
            self._registration = repairs.register(root)
            repairs.repair_times(root)
        self.campaign = Campaign(root)
        self.inputs = RuleInputs(self.campaign, self._jobs_elsewhere, is_job=not workflow.is_main_process)
        if workflow.is_main_process:
            self.inputs.memory_mb = schedule.available_memory_mb()
        with _message_and_exit():
            # workflow.dag_settings, which holds the targets, is None until the Snakefile has been read
            check_targets(self.campaign, sys.argv[1:])

    def figure_sets(self) -> list[ResultSet]:
        """Figures that one job draws, of every sweep of which this call wants more than one."""
        return figure_sets(self.campaign, sys.argv[1:])

    def preview_sets(self) -> list[ResultSet]:
        """Workloads that one job previews, of every sweep of the preview alone whose report is wanted."""
        return preview_sets(self.campaign, sys.argv[1:])

    def table_sets(self) -> list[ResultSet]:
        """Workloads that one job tabulates, of the same sweeps."""
        return table_sets(self.campaign, sys.argv[1:])

    def suite_sets(self) -> list[ResultSet]:
        """Suites whose items one job tabulates, of every sweep whose report this call wants."""
        return suite_sets(self.campaign, sys.argv[1:])

    def start(self) -> None:
        """Before the first job.

        Raises:
            SystemExit: with status 2, after the message: this machine lacks what the pending jobs need.
        """
        if not self._jobs_elsewhere():
            _lift_rate_limit(self._workflow.scheduler)
            _limit_memory(self._workflow.scheduler, self.inputs.memory_mb)
        elif self._registration:
            self._registration.jobs_elsewhere()
        followers.keep(self._workflow.dag)
        self.inputs.orders.clean()
        with _message_and_exit():
            self.inputs.check_ready()

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


@dataclass(frozen=True)
class ResultSet:
    """Results of a sweep that one job makes together: starting Python takes longer than making one.

    Attributes:
        rule: name of the rule that makes them; it finds a job in a process of its own (on a cluster) again.
        under: the sweep's place below results/.
        names: of the figures or suites.
    """

    rule: str
    under: str
    names: tuple[str, ...]

    @property
    def sweep(self) -> str:
        """The sweep's name."""
        return _sweep(self.under)


def figure_sets(campaign: Campaign, arguments: Sequence[str]) -> list[ResultSet]:
    """The sets of figures that a call of Snakemake draws together.

    A sweep has one where its report is asked for, or several of its figures; a single one is drawn by itself.

    Args:
        campaign: the project.
        arguments: the command line.
    """
    return _sets("figures_of_", arguments, campaign.figure_names, {"figure": 1, "report": 2})


def preview_sets(campaign: Campaign, arguments: Sequence[str]) -> list[ResultSet]:
    """The sets of workloads that a call of Snakemake previews together.

    Sweeps that run something on gem5 have none: their tables come one by one, as the runs end.

    Args:
        campaign: the project.
        arguments: the command line.
    """
    return _sets("previews_of_", arguments, campaign.previewed, {"report": 2})


def table_sets(campaign: Campaign, arguments: Sequence[str]) -> list[ResultSet]:
    """The sets of tables that a call of Snakemake makes together, of the sweeps of ``preview_sets``.

    Args:
        campaign: the project.
        arguments: the command line.
    """
    return _sets("tables_of_", arguments, campaign.tabulated, {"report": 2})


def suite_sets(campaign: Campaign, arguments: Sequence[str]) -> list[ResultSet]:
    """The sets of suites whose items a call of Snakemake tabulates together, for a report to link to.

    Args:
        campaign: the project.
        arguments: the command line.
    """
    return _sets("suites_of_", arguments, campaign.itemised, {"report": 2})


def _sets(
    prefix: str,
    arguments: Iterable[str],
    names_of: Callable[[str], Iterable[str]],
    weights: Mapping[str, int],
) -> list[ResultSet]:
    """One set for each sweep whose targets weigh more than 1 together."""
    asked: Counter[str] = Counter()
    for argument in arguments:
        named = paths.target(argument)
        if named is not None:
            asked[named["under"] or ""] += weights.get(_kind(named), 0)
        elif argument.startswith(prefix):
            asked[paths.under(argument.partition(":")[0].removeprefix(prefix))] += 2
    sets = []
    for under in sorted(name for name, weight in asked.items() if weight > 1):
        with contextlib.suppress(ConfigError):
            if names := tuple(names_of(under)):
                sets.append(ResultSet(f"{prefix}{_sweep(under)}", under, names))
    return sets


def _sweep(under: str) -> str:
    return under.rstrip("/") or paths.DEFAULT_SWEEP


def _kind(named: Mapping[str, str]) -> str:
    """What a results file is: table, figure or report."""
    is_table = "workload" in named or "sampled" in named
    return "table" if is_table else "figure" if "figure" in named else "report"


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


def result_lines(targets: Iterable[str]) -> list[str]:
    """Where the results of a call are: figures and tables first, then reports."""
    lines = []
    for path in sorted(targets):
        named = paths.target(path)
        if named is None:
            continue
        kind = _kind(named)
        if kind == "report":
            lines.append((1, f"tables: {paths.table(named['under'] or '', '*')}"))
        lines.append((2 if kind == "report" else 0, f"{kind}: {path}"))
    return [line for _, line in sorted(lines)]


def _check_results_exist(root: Path, targets: Iterable[str]) -> None:
    for target in sorted(targets):
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
