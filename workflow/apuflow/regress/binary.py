"""A gem5 binary as a side: it runs the points in a project of its own, whose results stay."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from apuflow.answers import prove
from apuflow.answers.answer import SWEEP
from apuflow.configure.point import Point
from apuflow.configure.yaml_source import load
from apuflow.core import paths, project
from apuflow.core.engines import is_batch
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import sha256_file, write_text
from apuflow.core.record import Status
from apuflow.core.workflow import run_workflow
from apuflow.plan.campaign import Campaign
from apuflow.regress.sides import Side, of_directory

_SCRIPT: Final = "configs/example/apu_se.py"
_UNTRIED: Final = (Status.CONFIG_ERROR, Status.HOST_OUT_OF_MEMORY, Status.INTERRUPTED)
"""Ends of a run that say nothing of how gem5 executes."""
_SHARED: Final = (paths.CACHE, paths.SOURCES)
"""Directories of the user's project that the other one uses: compiled kernels, checkouts."""


@dataclass(frozen=True)
class Points:
    """Which points run.

    Attributes:
        release: whose options and facts hold for the binary.
        first: number of known-answer points, the smallest first.
        sweep: a sweep of the user's beside them.
    """

    release: str
    first: int = 10
    sweep: str | None = None


def of_binary(
    binary: Path, wanted: Points, root: Path, measure: Callable[[Path], None] | None = None
) -> Side:
    """Run the points on a gem5, except for those that it has run already.

    Args:
        binary: a gem5.opt inside its sources.
        wanted: which points.
        root: the user's project, whose configuration holds.
        measure: is called with the project of the binary, to run every instruction.

    Raises:
        ConfigError: the binary is not inside its sources, or no point is of the release.
        EngineError: the workflow failed, or a point could not be tried: gem5 refused an option, the host
            lacked memory.
    """
    place = _project(binary.resolve(), wanted.release, root)
    points = _points(wanted, place)
    run_workflow([point.record for point in points], place)
    if measure is not None:
        measure(place)
    found = of_directory(place)
    for key, result in found.results.items():
        if result.status in _UNTRIED:
            remedy = "--release names the release whose options it gets; logs/simulate there has more"
            said = f"{key} did not run on this gem5: {result.evidence}"
            raise EngineError(said, file=place, value=result.status, remedy=remedy)
    return replace(found, name=str(binary))


def _points(wanted: Points, place: Path) -> list[Point]:
    points = list(prove.points("gem5-kernels", wanted.release, place)[: wanted.first])
    if wanted.sweep and wanted.sweep != SWEEP:
        campaign = Campaign(place)
        sweep = campaign.load(wanted.sweep)
        engines = [engine for engine in sweep.engines if not is_batch(engine)]
        workloads = campaign.workloads(sweep)
        own = [p for e in engines for w in workloads for p in campaign.points(sweep.name, w, e)]
        of_release = [point for point in own if point.release == wanted.release]
        if not of_release:
            raise ConfigError(
                f"the sweep has no point of gem5 {wanted.release}",
                file=paths.sweep_file(wanted.sweep),
                key="release",
                remedy=f"add engine gem5-kernels and release {wanted.release}, or name another --release",
            )
        points += of_release
    return points


def _project(binary: Path, release: str, root: Path) -> Path:
    """A project whose gem5 of a release is the binary."""
    source = next((parent for parent in binary.parents if (parent / _SCRIPT).is_file()), None)
    if source is None:
        remedy = f"give the path of gem5.opt inside its checkout, which has {_SCRIPT}"
        raise ConfigError("this gem5 is not inside its sources", file=binary, remedy=remedy)
    place = root.resolve() / "build/regress" / f"{sha256_file(binary)[:12]}-{release}"
    project.new_project(place)
    own = shutil.ignore_patterns("conformance", "site.yaml", "known_answers")
    shutil.copytree(root / paths.CONFIGS, place / paths.CONFIGS, ignore=own, dirs_exist_ok=True)
    for name in _SHARED:
        (root / name).mkdir(parents=True, exist_ok=True)
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        if not (place / name).exists():
            (place / name).symlink_to((root / name).resolve())
    file = root / "configs/site.yaml"
    site = _absolute(load(file).data, root.resolve()) if file.is_file() else {}
    site.pop("gem5", None)
    mine = {"binary": str(binary), "source": str(source), "allow_dirty": True}
    site["gem5_by_release"] = {release: mine}
    write_text(place / "configs/site.yaml", yaml.safe_dump(site))
    return place


def _absolute(value: Any, root: Path) -> Any:
    """A site's values with paths below the project made absolute."""
    if isinstance(value, dict):
        return {key: _absolute(each, root) for key, each in value.items()}
    if isinstance(value, str) and "/" in value and (root / value).exists():
        return str((root / value).resolve())
    return value
