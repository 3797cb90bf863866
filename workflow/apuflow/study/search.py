"""Search a sweep's space: the preview over all of it, objectives and constraints, the points that none beats.

The preview computes thousands of points a second, all at once, so the space is evaluated as a whole and needs
no optimiser. A space of more points than asked for is sampled, evenly at random with a fixed seed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from apuflow.campaign.points import sweep_workloads
from apuflow.configure.combinations import Assignment, Plan, plan
from apuflow.configure.loading import check_new_name
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.study.ask import answer_of
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.objectives import Objective, holds, of_machines, pareto, values

SEED = 1


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        rows: a row per machine: its axes, a column per objective, ``gpu_cycles`` with its interval,
            ``flags``, ``best`` (no other point is as good in every objective and better in one), best first.
        axes: names of the columns that vary.
        space: combinations of the sweep.
        evaluated: how many of them were computed.
        refused: how many of these a constraint left out.
    """

    rows: pd.DataFrame
    axes: tuple[str, ...]
    space: int
    evaluated: int
    refused: int

    @property
    def undecided(self) -> int:
        """Points besides the first whose interval of cycles reaches below the first one's upper end."""
        if self.rows.empty:
            return 0
        first = self.rows.iloc[0]
        return int((self.rows["gpu_cycles_low"] < first["gpu_cycles_high"]).sum()) - 1


def search(
    sweep: Sweep,
    objectives: Sequence[Objective],
    constraints: Sequence[str] = (),
    most: int = 20_000,
    root: Path = Path(),
) -> Found:
    """Evaluate a sweep's space with the preview and sort it by the objectives.

    Objectives of several workloads on one machine add up; one of axes and options alone counts once.

    Args:
        objectives: at least one; the first decides the order.
        constraints: expressions that must hold of each row, as ``dram_bytes_read < 1e9``.
        most: points per workload to compute.

    Raises:
        ConfigError: a point cannot run, an expression cannot be evaluated, or nothing is left.
    """
    wide = sweep.model_copy(
        update={"limits": sweep.limits.model_copy(update={"max_points": 10**12}), "engines": ("preview",)}
    )
    tables, space, evaluated = [], 0, 0
    workloads = sweep_workloads(wide, root)
    if paths.OPERATIONS in workloads:
        raise ConfigError(
            "a search is over workloads, not over suites", remedy="leave suites out of the sweep"
        )
    for workload in workloads:
        planned = plan(wide, workload, root)
        combinations = list(itertools.islice(planned.combinations(), most + 1))
        if len(combinations) > most:
            combinations = _sampled(planned, most)
            space += planned.size
        else:
            space += len(combinations)
        evaluated += len(combinations)
        tables.append(answer_of(wide, workload, combinations, root))
    frame = pd.concat(tables, ignore_index=True).copy()
    axes = tuple(
        dict.fromkeys(
            axis_column(name) for w in sweep_workloads(wide, root) for name in plan(wide, w, root).axes
        )
    )
    keep = np.ones(len(frame), dtype=bool)
    for constraint in constraints:
        keep &= holds(frame, constraint)
    expressions = [o.expression for o in objectives]
    valued = frame.assign(**values(frame, expressions))[keep]
    rows = of_machines(valued, axes, expressions, frame["workload"].nunique())
    if rows.empty:
        raise ConfigError(
            "no point satisfies the constraints",
            key="--where",
            value=" and ".join(constraints),
            remedy="loosen them, or widen the sweep's axes",
        )
    better = np.column_stack(
        [(-1.0 if o.larger else 1.0) * rows[o.expression].to_numpy() for o in objectives]
    )
    rows["best"] = pareto(better)
    order = np.lexsort((*better.T[::-1], ~rows["best"].to_numpy()))
    return Found(rows.iloc[order].reset_index(drop=True), axes, space, evaluated, int((~keep).sum()))


def _sampled(planned: Plan, count: int) -> list[Assignment]:
    """So many different combinations, each as likely as any other."""
    draw = random.Random(SEED)
    seen: dict[Assignment, None] = {}
    for _ in range(50 * count):
        parts = [draw.choice(rows) for rows in planned.dimensions]
        assignment = tuple(itertools.chain.from_iterable(parts))
        if not planned.excluded(dict(assignment)):
            seen[assignment] = None
        if len(seen) == count:
            break
    return list(seen)


def made_by(sweep: str) -> str:
    """How the description of a sweep ends that a search of ``sweep`` wrote."""
    return f"points that apuflow search {sweep} found"


def save_best(
    sweep: Sweep,
    found: Found,
    objectives: Sequence[Objective],
    count: int,
    name: str,
    root: Path = Path(),
    *,
    force: bool = False,
) -> Path:
    """Keep the best points as a sweep on gem5-kernels and the preview: gem5 then judges the ranking.

    Its report has the table of the best points, and the Pareto figure of several objectives.

    Raises:
        ConfigError: the name cannot be used.
    """
    import yaml

    path = root / paths.sweep_file(name)
    check_new_name(name, "sweep", path, force=force)
    head = found.rows.head(count)
    names = {axis_column(n): n for w in sweep_workloads(sweep, root) for n in plan(sweep, w, root).axes}
    group: dict[str, Any] = {}
    for column in found.axes:
        listed = [_plain(value) for value in head[column]]
        option = names[column]
        if option.startswith("layer."):
            group.setdefault("layer", {})[option.removeprefix("layer.")] = listed
        else:
            group[option] = listed
    content: dict[str, Any] = {
        "description": f"The best {len(head)} {made_by(sweep.name)}",
        "engines": ["gem5-kernels", "preview"],
        "release": sweep.release,
        "machine": sweep.machine,
        "workloads": sweep_workloads(sweep, root),
        **({"options": dict(sweep.options)} if sweep.options else {}),
        **({"layer": dict(sweep.layer)} if sweep.layer else {}),
        "zip": [group],
        "on_failure": "record",
        "figures": {"objectives": [f"-({o.expression})" if o.larger else o.expression for o in objectives]},
    }
    write_text(path, yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100))
    return path


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
