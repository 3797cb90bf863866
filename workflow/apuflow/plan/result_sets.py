"""Results of a sweep that one job makes together: starting Python takes longer than making one of them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apuflow.core import paths
from apuflow.core.errors import ConfigError

if TYPE_CHECKING:
    from apuflow.plan.campaign import Campaign


@dataclass(frozen=True)
class Together:
    """A kind of results that are made together.

    Attributes:
        beginning: of the names of the rules that do, before the sweep's.
        stage: what a person sees of them.
        names_of: what a sweep has of the kind, by its place below results/.
        weights: by what is asked for; a sweep has a set where that weighs more than 1 together.
    """

    beginning: str
    stage: str
    names_of: Callable[[Campaign, str], Iterable[str]]
    weights: Mapping[str, int]


_REPORT = {"report": 2}
KINDS: Mapping[str, Together] = {
    # A sweep that runs something on gem5 has no previews or tables together: its tables come as its runs end.
    "previews": Together("previews_of_", "preview", lambda project, under: project.previewed(under), _REPORT),
    "tables": Together("tables_of_", "tables", lambda project, under: project.tabulated(under), _REPORT),
    "suites": Together(
        "suites_of_", "items of suites", lambda project, under: project.itemised(under), _REPORT
    ),
    # A single figure is drawn by itself.
    "figures": Together(
        "figures_of_", "figures", lambda project, under: project.figure_names(under), {"figure": 1, **_REPORT}
    ),
}


@dataclass(frozen=True)
class ResultSet:
    """Results of a sweep that one job makes.

    Attributes:
        rule: name of the rule that makes them; it finds a job in a process of its own (on a cluster) again.
        under: the sweep's place below results/.
        names: of the figures, workloads or suites.
    """

    rule: str
    under: str
    names: tuple[str, ...]

    @property
    def sweep(self) -> str:
        """The sweep's name."""
        return _sweep(self.under)


def result_sets(campaign: Campaign, kind: str, arguments: Sequence[str]) -> list[ResultSet]:
    """The sets of a kind that a call of Snakemake makes.

    Args:
        campaign: the project.
        kind: of ``KINDS``.
        arguments: the command line.
    """
    together = KINDS[kind]
    asked: Counter[str] = Counter()
    for argument in arguments:
        named = paths.target(argument)
        if named is not None:
            asked[named["under"] or ""] += together.weights.get(kind_of(named), 0)
        elif argument.startswith(together.beginning):
            asked[paths.under(argument.partition(":")[0].removeprefix(together.beginning))] += 2
    sets = []
    for under in sorted(name for name, weight in asked.items() if weight > 1):
        with contextlib.suppress(ConfigError):
            if names := tuple(together.names_of(campaign, under)):
                sets.append(ResultSet(f"{together.beginning}{_sweep(under)}", under, names))
    return sets


def kind_of(named: Mapping[str, str]) -> str:
    """What a results file is: table, figure or report.

    Args:
        named: of ``paths.target``.
    """
    is_table = "workload" in named or "sampled" in named
    return "table" if is_table else "figure" if "figure" in named else "report"


def _sweep(under: str) -> str:
    return under.rstrip("/") or paths.DEFAULT_SWEEP
