"""Which figures a sweep has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from apuflow.configure import Sweep
from apuflow.configure.combinations import plan
from apuflow.core import paths
from apuflow.core.errors import ConfigError

_SEARCHED = ("best_points", "pareto")
"""Figures of a sweep with one objective, and with two."""


def figure_names(sweep: Sweep, shown: Sequence[str], suites: Sequence[str], root: Path) -> list[str]:
    """Names of the figures that a sweep asks for, else of all that its axes and engines allow.

    Args:
        shown: its tables. suites: those of them that are suites. root: the project's directory.

    Raises:
        ConfigError: it asks for one that they do not allow.
    """
    from apuflow_analysis.figures import planned

    if sweep.sampling is not None:
        return []
    axes = {
        "release" if "release" in dict(dimension[0]) else dimension[0][0][0]
        for workload in shown
        for dimension in plan(sweep, workload, root).dimensions
        if len(dimension) > 1
    }
    asked = sweep.figures.show
    names = planned(
        axes,
        sweep.engines,
        workloads=len(shown) > len(suites),
        of_suites=bool(suites),
        asked=(*asked, *_SEARCHED[: len(sweep.figures.objectives)]),
    )
    for place, name in enumerate(asked, 1):
        if name not in names:
            raise ConfigError(
                "the sweep's axes and engines do not allow this figure",
                file=paths.sweep_file(sweep.name),
                key=f"figures.show.{place}",
                value=name,
                remedy=f"one of {', '.join(names)}",
            )
    return list(asked or names)
