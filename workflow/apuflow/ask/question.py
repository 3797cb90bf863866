"""Questions of the command line (workloads, options, layer keys) that the preview answers at once."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pandas as pd

from apuflow import preview
from apuflow.configure.base import did_you_mean
from apuflow.configure.catalogue import catalogue
from apuflow.configure.combinations import PLACES, Assignment, plan
from apuflow.configure.loading import (
    check_new_name,
    plain_value,
    suite_names,
    sweep_of,
    workload_names,
)
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.configure.yaml_source import Document
from apuflow.core import forked, paths
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.files import write_text
from apuflow.engines.preview_batch import axes_of, batch_columns
from apuflow.operations import KINDS
from apuflow.plan.points import members, operations, points, sweep_workloads
from apuflow.results.suites import iteration
from apuflow_analysis.tables.cliffs import cliff_texts
from apuflow_analysis.tables.columns import PRODUCTS, axis_column
from apuflow_analysis.tables.records import Batch
from apuflow_analysis.tables.suites import Folder, Iteration
from apuflow_analysis.tables.tables import AXES, assemble

ENGINE: Final = "preview"
NAME = "question"
FEWEST = 1000
"""Points for which a process of its own is worth while: it takes 40 ms to begin, they take 100 to 400."""


def described(workloads: str, settings: Sequence[str], root: Path = Path()) -> dict[str, Any]:
    """The content of the sweep that asks this.

    Args:
        workloads: names or patterns of workloads and suites, with commas between.
        settings: ``key=value`` fixes an option or a layer key, ``key=value,value`` varies it.

    Raises:
        ConfigError: no such workload or suite, a setting has no ``=``, or a key is given twice.
    """
    names = [name.strip() for name in workloads.split(",") if name.strip()]
    content: dict[str, Any] = {
        "description": " ".join(["apuflow ask", workloads, *settings]),
        "engines": [ENGINE],
        "release": preview.RELEASE,
        **named(names, root),
    }
    seen: set[str] = set()
    for setting in settings:
        key, equals, text = setting.partition("=")
        values = [plain_value(value.strip()) for value in text.split(",")]
        if not equals or not key.strip() or "" in values:
            remedy = "key=value or key=value,value: num-compute-units=4,16 n=100"
            raise ConfigError("not a setting", value=setting, remedy=remedy)
        key = _key(key.strip())
        if key in seen:
            raise ConfigError("the key is set twice", key=key, value=setting, remedy="keep one of them")
        seen.add(key)
        varied = len(values) > 1
        if varied and key == PRODUCTS:
            told, remedy = (
                ", ".join(map(str, values)),
                "ask twice, with products=rocblas and products=stand-in",
            )
            raise ConfigError("one table has one kind of matrix products", key=key, value=told, remedy=remedy)
        put(content, key, values if varied else values[0], varied=varied)
    return content


def named(names: Sequence[str], root: Path = Path()) -> dict[str, list[str]]:
    """Keys ``workloads`` and ``suites`` of the sweep that runs these; ``-`` before a name leaves it out.

    Raises:
        ConfigError: a name or pattern that is no workload's and no suite's, or no name at all.
    """
    known = {"workloads": workload_names(root), "suites": suite_names(root)}
    found: dict[str, list[str]] = {}
    for name in names:
        pattern = name.removeprefix("-")
        places = [place for place, of in known.items() if fnmatch.filter(of, pattern)]
        places = ["workloads"] if pattern == "all" else places
        if not places:
            raise _unknown(name, sorted({*known["workloads"], *known["suites"]}))
        for place in places:
            found.setdefault(place, []).append(name)
    if not found:
        remedy = "such as conv_fwd, 'pool_*' or resnet18"
        raise ConfigError("no workload is named", key="workloads", value=",".join(names), remedy=remedy)
    return found


def _unknown(name: str, known: Sequence[str]) -> ConfigError:
    """There is no workload and no suite of this name; it may be an operation's."""
    if name in KINDS:
        what = "an operation: its shape makes it a workload"
        remedy = f"configs/workloads/NAME.yaml of kind: operation, operation: {name} (docs/operations.md)"
        return ConfigError(what, value=name, remedy=f"write {remedy}, then ask NAME")
    remedy = f"{did_you_mean(name, known)}`apuflow list workloads` and `apuflow list suites` have all"
    return ConfigError("no workload or suite of this name", value=name, remedy=remedy)


def _key(given: str) -> str:
    """The option, place or ``layer.<key>`` that is meant."""
    dashed = given.replace("_", "-")
    if given in catalogue() or given in (*PLACES, PRODUCTS):
        return given
    if dashed in catalogue():
        return dashed
    return given if "-" in given else f"layer.{given.removeprefix('layer.')}"


def put(content: dict[str, Any], key: str, value: Any, *, varied: bool) -> None:
    """Add an option, a place or a ``layer.<key>`` to the content of a sweep; ``varied``: as an axis."""
    name = key.removeprefix("layer.")
    if varied:
        axes = content.setdefault("axes", {})
        (axes.setdefault("layer", {}) if name != key else axes)[name] = value
    elif key in (*PLACES, PRODUCTS):
        content[key] = value
    else:
        content.setdefault("layer" if name != key else "options", {})[name] = value


def question(content: Mapping[str, Any], root: Path = Path()) -> Sweep:
    """The sweep, checked.

    Raises:
        ConfigError: a mistake in it.
    """
    return sweep_of(Document(Path("the command line"), dict(content), {}), NAME, root)


@dataclass(frozen=True)
class Answer:
    """What the preview says of a sweep.

    Attributes:
        frame: the result table: a row per point of a workload, and per iteration of a suite.
        iterations: those of the suites, in the order of their rows.
        folder: sums and items of the suites; None without suites.
        operations: the result table of the suites' distinct operations; empty without suites.
    """

    frame: pd.DataFrame
    iterations: tuple[Iteration, ...] = ()
    folder: Folder | None = None
    operations: pd.DataFrame = field(default_factory=pd.DataFrame)


Chosen: TypeAlias = Mapping[str, Sequence[Assignment]]
"""Of workloads and suites the combinations to compute."""


def answered(sweep: Sweep, root: Path = Path(), chosen: Chosen | None = None) -> Answer:
    """The preview's answer for all points of a sweep, or for those chosen.

    An operation of a suite that the preview does not model is left out of its sums; the iteration's item says
    why.

    Raises:
        ConfigError: a point cannot run.
    """
    taken = chosen or {}
    names = [name for name in sweep_workloads(sweep, root) if name != paths.OPERATIONS]
    combined = {name: taken.get(name) or list(plan(sweep, name, root).combinations()) for name in names}
    tables = [answer_of(sweep, name, each, root) for name, each in combined.items()]
    if not sweep.suites:
        return Answer(_joined(tables))
    every = members(sweep, root, taken, partly=True)
    of_operations = table_of(operations(sweep, every, root))
    folder, iterations = Folder(of_operations), tuple(map(iteration, every))
    for name in dict.fromkeys(one.suite for one in iterations):
        tables.append(folder.table([one for one in iterations if one.suite == name]))
    return Answer(_joined(tables), iterations, folder, of_operations)


def answer(sweep: Sweep, root: Path = Path()) -> pd.DataFrame:
    """The preview's result table of all points of a sweep, by workload.

    Raises:
        ConfigError: a point cannot run.
    """
    return answered(sweep, root).frame


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def answer_of(
    sweep: Sweep, workload: str, combinations: Sequence[Assignment], root: Path = Path()
) -> pd.DataFrame:
    """The preview's result table of some combinations of a workload's axes.

    Raises:
        ConfigError: a point cannot run; then every reason is listed.
    """

    def resolved(some: Sequence[Assignment]) -> list[Point]:
        return points(sweep, workload, root, [ENGINE], some)

    parts = forked.parts(combinations, FEWEST)
    try:
        found = forked.each(lambda part: _rows(resolved(part)), parts)
    except ConfigError:
        if len(parts) > 1:
            resolved(combinations)  # what is wrong with all of them, not only with one part
        raise
    return assemble(found)


def table_of(chosen: Sequence[Point]) -> pd.DataFrame:
    """The result table of points of one workload whose engine is the preview."""
    return assemble([_rows(chosen, forked.usable())])


def steep_steps(chosen: Sequence[Point]) -> list[str]:
    """Cliffs that the preview sees between points of one workload; none where it cannot model them."""
    if len(chosen) < 2:
        return []
    try:
        frame = table_of(chosen)
    except ApuflowError:
        return []
    return cliff_texts(frame, [str(name) for name in frame.attrs.get(AXES, ())])


def _rows(chosen: Sequence[Point], processes: int = 1) -> Batch:
    shared = {"engine": ENGINE, "workload": chosen[0].workload, "direction": chosen[0].direction}
    columns = batch_columns(chosen, processes)
    for name, value in (*shared.items(), ("evidence", f"preview {preview.VERSION}")):
        columns[name] = [value] * len(chosen)
    named = {axis_column(name): values for name, values in columns.items()}
    return Batch(named, tuple(map(axis_column, axes_of(chosen))))


def save(content: Mapping[str, Any], name: str, root: Path = Path(), *, force: bool = False) -> Path:
    """Keep the content of a sweep as ``configs/sweeps/<name>.yaml``.

    Raises:
        ConfigError: the name cannot be used, or there is a sweep of this name.
    """
    import yaml

    path = root / paths.sweep_file(name)
    check_new_name(name, "sweep", path, force=force)
    head = "# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json\n"
    body = yaml.safe_dump(dict(content), sort_keys=False, default_flow_style=None, width=100)
    write_text(path, head + body)
    return path
