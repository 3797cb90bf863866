"""Points: one run each, resolved, checked, and named by everything that can change its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from apuflow.configure.catalogue import Options, Value
from apuflow.configure.combinations import Assignment, plan
from apuflow.configure.loading import Workload, load_workload
from apuflow.configure.resolve import Resolver
from apuflow.configure.sweep import Sweep
from apuflow.configure.workload import EngineName
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        workload: its name; ``program`` and ``config_text`` are what runs.
        config_text: the network with this point's layer values, in canonical form; None for a command.
        release: name of the gem5 release.
        release_facts: what its file says of it.
        options: every ``apu_se.py`` option, as on the command line without dashes.
        axes: what varies in the sweep, layer keys as ``layer.<key>``.
        label: what sets the point apart from the release's defaults and the workload as shipped; readable,
            safe as a file name, the same in every sweep that has this point.
        content: see describe().
    """

    engine: EngineName
    workload: str
    direction: Direction | None
    kind: Literal["dnnmark", "command"]
    program: str
    config_text: str | None
    release: str
    release_facts: ReleaseFacts
    gfx: str
    options: Options
    axes: Mapping[str, Value]
    label: str
    content: Mapping[str, Any]

    def describe(self) -> dict[str, Any]:
        """Everything that can change the result, as JSON-able values: what the identity is made of."""
        return dict(self.content)

    @cached_property
    def identity(self) -> str:
        """First 8 hex digits of SHA-256 over the canonical JSON of describe()."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def id(self) -> str:
        return f"{self.label}-{self.identity}"


def points(sweep: Sweep, workload: str, root: Path = Path()) -> list[Point]:
    """Every point of one workload of a sweep: per engine, in the order of the axes, the last one fastest.

    Raises:
        ConfigError: the workload is unknown, or a point cannot run; then every reason is listed.
    """
    loaded = load_workload(workload, root)
    asked = plan(sweep, workload, root)
    resolver = Resolver(sweep, loaded, asked, root)
    result: list[Point] = []
    for engine in sweep.engines:
        resolver.check_engine(engine)
        for assignment in asked.combinations():
            point = _point(resolver, loaded, engine, assignment)
            if point is not None:
                result.append(point)
    resolver.raise_problems()
    return result


def point_at(
    sweep: Sweep, workload: str, engine: EngineName, axes: Mapping[str, Value], root: Path = Path()
) -> Point:
    """One point of a sweep, by the values of what varies: without the work for all others.

    Args:
        axes: as ``Point.axes`` has them, in the same order.

    Raises:
        ConfigError: the workload is unknown, or the point cannot run.
    """
    loaded = load_workload(workload, root)
    resolver = Resolver(sweep, loaded, plan(sweep, workload, root), root)
    point = _point(resolver, loaded, engine, tuple(axes.items()))
    resolver.raise_problems()
    assert point is not None
    return point


def _point(resolver: Resolver, loaded: Workload, engine: EngineName, assignment: Assignment) -> Point | None:
    """The point of these values; None when something is wrong with it (the resolver knows what)."""
    resolved = resolver.resolve(engine, assignment)
    if resolved is None:
        return None
    options = Options(resolved.machine.defaults, resolved.options)
    return Point(
        engine=engine,
        workload=loaded.name,
        direction=loaded.direction,
        kind=loaded.kind,
        program=loaded.program,
        config_text=resolved.network.text,
        release=resolved.machine.release,
        release_facts=resolved.machine.release_file.facts,
        gfx=str(options["gfx-version"]),
        options=options,
        axes=dict(assignment),
        label=resolved.label,
        content=resolved.content,
    )
