"""Run a batch: several points one after the other, each with its own proof, lock, limits and record."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from apuflow.core.errors import DescribedError, EngineError
from apuflow.core.files import write_text
from apuflow.engines.run_point import run_point
from apuflow.plan.campaign import Campaign
from apuflow.plan.orders import BatchOrder, Orders, PointOrder
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import Busy
from apuflow.run.process import RunFailed

Run = Callable[[PointOrder, bool], str]
"""Runs a point and returns how it ended; the flag says whether to wait for another process that runs it."""


def run_batch(name: str, mark: Path, root: Path = Path()) -> None:
    """Run the points of a batch, and write the mark when each has its record.

    A point that fails does not stop the others. One that another process is running comes last, when it may
    be done. A signal ends the batch: only the point that was running is lost.

    Raises:
        EngineError: points failed in a strict sweep, or the batch was stopped; what is missing is named.
    """
    order = Orders(root).batch(name)
    campaign, tools = Campaign(root), cache(lambda release: Toolset(release, root))

    def run(one: PointOrder, wait: bool) -> str:
        point = campaign.replan_point(one.sweep, one.engine, one.workload, one.point, one.axes)
        sweep = campaign.load(one.sweep)
        record = run_point(tools(point.release), sweep, point, one.inputs, memory_mb=one.memory_mb, wait=wait)
        _protect(root / one.record)
        return f"{record.status}: {record.evidence}"

    problems = each_point(order, run)
    if problems:
        listed = "\n".join(f"{file}: {problem}" for file, problem in problems.items())
        raise EngineError(
            f"{len(problems)} of {len(order.points)} points of this batch have no record\n{listed}",
            remedy="start the workflow again: what has a record stays, what has none is tried again",
        )
    write_text(mark, json.dumps({"points": len(order.points)}) + "\n")


def each_point(order: BatchOrder, run: Run) -> dict[str, str]:
    """Run all points; the record of each that has none, and why."""
    problems: dict[str, str] = {}
    waiting: list[PointOrder] = []
    for last_round in (False, True):
        for one in waiting if last_round else order.points:
            try:
                print(f"{one.record}: {run(one, last_round)}")
            except Busy:
                waiting.append(one)
            except RunFailed as error:
                problems[one.record] = f"{error.record.status}: {error.record.evidence}"
                print(error)
                if error.stopped:
                    return problems | _not_begun(order, problems)
            except DescribedError as error:
                problems[one.record] = error.message
                print(error)
    return problems


def _not_begun(order: BatchOrder, problems: dict[str, str]) -> dict[str, str]:
    left = (one.record for one in order.points if not Path(one.record).exists())
    return {record: "not begun: the batch was stopped" for record in left if record not in problems}


def _protect(record: Path) -> None:
    """Take the right to write away, as Snakemake does for the record of a job of its own."""
    record.chmod(record.stat().st_mode & ~0o222)
