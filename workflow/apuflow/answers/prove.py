"""Run the points of sweep ``known_answers`` on this machine's tools, and take their answers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from apuflow.answers.answer import SWEEP, Answer
from apuflow.answers.compare import differences, equal
from apuflow.answers.take import of_preview, of_run
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import EngineName, is_batch
from apuflow.core.errors import ConfigError, EngineError
from apuflow.engines import get_engine
from apuflow.plan.campaign import Campaign
from apuflow.prepare.tools import Toolset


def points(engine: EngineName, release: str, root: Path) -> tuple[Point, ...]:
    """The points of the sweep on a release, the smallest first.

    Raises:
        ConfigError: the sweep does not exist, or lacks the release or the engine.
    """
    campaign = Campaign(root)
    sweep = campaign.load(SWEEP)
    file = root / paths.sweep_file(SWEEP)
    if engine not in sweep.engines:
        problem = "the sweep of known answers does not have this engine"
        raise ConfigError(problem, file=file, key="engines", value=engine, remedy=f"append {engine}")
    found = [point for name in campaign.workloads(sweep) for point in campaign.points(SWEEP, name, engine)]
    chosen = tuple(point for point in found if point.release == release)
    if not chosen:
        have = ", ".join(dict.fromkeys(point.release for point in found))
        remedy = (
            f"append {release} to its list release and a machine of it to its list machine; it has {have}"
        )
        problem = "the sweep of known answers does not have this release"
        raise ConfigError(problem, file=file, key="zip", value=release, remedy=remedy)
    return chosen


def answers(engine: EngineName, wanted: Sequence[Point], root: Path) -> tuple[Answer, ...]:
    """Results of points of one release on this machine. On gem5 they run again, even if they have run before.

    Raises:
        EngineError: a run did not complete, or the workflow failed.
    """
    if is_batch(engine):
        return tuple(map(of_preview, wanted))
    release = wanted[0].release
    if get_engine(engine).image_in_identity:  # its digest is part of the points' names
        names = [point.workload for point in wanted]
        _run_workflow([Toolset(release, root).record("image")], root)
        wanted = [point for point in points(engine, release, root) if point.workload in names]
    with contextlib.ExitStack() as stack:
        for point in wanted:
            stack.enter_context(_set_aside(point, root))
        _run_workflow([paths.run_record(engine, point.workload, point.id) for point in wanted], root)
    tools = Toolset(release, root)
    return tuple(of_run(tools, point) for point in wanted)


def record(engine: EngineName, release: str, root: Path) -> tuple[Answer, ...]:
    """The answers of all points, run twice.

    Raises:
        EngineError: the two differ: this is no known answer.
    """
    wanted = points(engine, release, root)
    first, second = (answers(engine, wanted, root) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        found = differences(one, other)
        if not equal(found):
            raise EngineError(
                "two runs of one point differ: this gem5 is not deterministic",
                key=one.workload,
                value=", ".join(f"{each.kind} {each.name}" for each in found[:8]),
                remedy="nothing was written; check these rows for numbers of the host, and gem5 for a race",
            )
    return second


def is_built(point: Point, root: Path) -> bool:
    """Whether the gem5 of a point is there, so that a proof takes seconds."""
    if is_batch(point.engine):
        return True
    tools = Toolset(point.release, root)
    return tools.site.gem5.binary is not None or (root / tools.record(tools.gem5_tool(point.gfx))).exists()


@contextlib.contextmanager
def _set_aside(point: Point, root: Path) -> Iterator[None]:
    """Move an existing run away; move it back if the new one leaves no record."""
    directory = root / paths.run_dir(point.engine, point.workload, point.id)
    aside = root / paths.set_aside_dir(point.engine, point.workload, point.id)
    if not directory.exists():
        yield
        return
    shutil.rmtree(aside, ignore_errors=True)
    aside.parent.mkdir(parents=True, exist_ok=True)
    directory.rename(aside)
    try:
        yield
    finally:
        if (directory / "run.json").exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            shutil.rmtree(directory, ignore_errors=True)
            aside.rename(directory)


def _run_workflow(targets: Sequence[str], root: Path) -> None:
    cores = str(len(os.sched_getaffinity(0)))
    command = [sys.executable, "-m", "snakemake", "--cores", cores, *targets]
    if subprocess.run(command, cwd=root, check=False).returncode != 0:
        raise EngineError(
            "the runs failed; their message is above",
            value=f"snakemake --cores {cores} {targets[0]}" + (" ..." if len(targets) > 1 else ""),
            remedy="follow its advice, then prove again",
        )
