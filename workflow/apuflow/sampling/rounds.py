"""A sweep with ``sampling``, as the rules see it: which runs come next, and what is written at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.core.files import wait_for_files, write_files
from apuflow.plan.campaign import Campaign
from apuflow.plan.storage import Storage

if TYPE_CHECKING:  # a sweep without sampling, which most are, waits for neither pandas nor the timing model
    from apuflow.sampling.runs import Ran
    from apuflow.sampling.suites import Sampled

Wildcards = Mapping[str, str]


class SampleRounds:
    """The rounds of one call of Snakemake; ``storage``: where the runs are, if not in the project.

    A round follows from the runs that are there and from nothing else: after a workflow was killed the next
    one goes on with what is left.
    """

    def __init__(self, campaign: Campaign, storage: Storage | None = None) -> None:
        self._campaign = campaign
        self._storage = storage
        self._rounds: dict[str, tuple[str, ...]] = {}
        self._begun: dict[str, str] = {}
        self._known: dict[str, Ran] = {}

    def round_records(self, wildcards: Wildcards) -> tuple[Sweep, str, tuple[str, ...]]:
        """What a round makes: sweep, workload, run records."""
        return self._campaign.load(wildcards["sweep"]), paths.OPERATIONS, self._rounds[wildcards["round"]]

    def records(self, wildcards: Wildcards, checkpoints: Any) -> list[str]:
        """Run records that a sample rests on. A round that has begun stays as it is until all of it is there.

        Raises:
            IncompleteCheckpointException: Snakemake's, while a round is to be made first.
        """
        sweep = self._campaign.sweep(wildcards["under"])
        if begun := self._begun.get(sweep.name):
            checkpoints.sample_round.get(sweep=sweep.name, round=begun)
            if self._storage:
                self._storage.bring_runs(self._rounds[begun])
            wait_for_files(self._campaign.root / record for record in self._rounds[begun])
        self._campaign.points(sweep.name, paths.OPERATIONS)
        found = _sampled(self._campaign, sweep, self._known)
        following = tuple(dict.fromkeys(record for one in found for record in one.round))
        if following:
            name = hashlib.sha256("\n".join(following).encode()).hexdigest()[:16]
            self._begun[sweep.name], self._rounds[name] = name, following
            checkpoints.sample_round.get(sweep=sweep.name, round=name)
        return [*dict.fromkeys(record for one in found for record in one.made), *following]


def write_sample(campaign: Campaign, under: str, members: str, totals: str) -> None:
    """Write a sample that is complete: every operation, and a row per iteration, as CSV; both or none.

    Args:
        under: the sweep's place below results/.
        members, totals: files of ``member_table`` and ``total_table``.

    Raises:
        EngineError: more runs are to be made.
    """
    from apuflow.sampling.suites import member_table, total_table

    sweep = campaign.sweep(under)
    found = _sampled(campaign, sweep, {})
    if any(one.following for one in found):
        remedy = "start the workflow again"
        raise EngineError("runs of the sample are missing", value=sweep.name, remedy=remedy)
    tables = ((members, member_table(found)), (totals, total_table(found)))
    write_files({file: table.to_csv(index=False, lineterminator="\n").encode() for file, table in tables})


def _sampled(campaign: Campaign, sweep: Sweep, known: dict[str, Ran]) -> list[Sampled]:
    from apuflow.sampling.suites import sample_suites

    assert sweep.sampling is not None
    return sample_suites(campaign, sweep, sweep.sampling, known)
