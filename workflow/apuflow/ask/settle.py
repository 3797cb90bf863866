"""What settles a question on gem5: the command, its cost, and gem5's numbers beside the preview's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow.ask.judge import engines_for, not_refused
from apuflow.ask.question import Answer, save
from apuflow.ask.search import Found
from apuflow.configure import load_sweep
from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.units import format_duration
from apuflow.engines.estimate import seconds_of
from apuflow_analysis.tables.columns import INTERVAL
from apuflow_analysis.tables.records import COMPLETED

_ASKED = "on gem5"
"""How the description of a sweep ends that a question wrote."""


def free_name(what: str, root: Path = Path()) -> str:
    """A name for the sweep that settles a question: that of its first workload, which no sweep has yet."""
    first = re.sub(r"[^A-Za-z0-9_.-]+", "", what.split(",")[0]).strip("-.") or "question"
    names = [f"{first}-gem5", *(f"{first}-gem5-{number}" for number in range(2, 1000))]
    return next(name for name in names if not (root / paths.sweep_file(name)).exists())


def command(verb: str, words: Sequence[str], name: str) -> str:
    """The command that writes the sweep ``name`` for gem5-kernels and runs it, to paste into a shell."""
    return shlex.join(["apuflow", verb, *words, "--judge", name, "--run"])


def cost(answer: Answer) -> str:
    """Time on one core of gem5 for an answer's points, estimated from the preview's counts."""
    own = [answer.operations] if len(answer.operations) else []
    suites = {one.suite for one in answer.iterations}
    return _told([*own, answer.frame[~answer.frame["workload"].isin(suites)]])


def cost_of(found: Found, chosen: Found, count: int) -> str:
    """The same for the first rows of what a search chose to judge."""
    frames: list[pd.DataFrame] = []
    answer, points = found.answer, set[str]()
    suites = {one.suite for one in answer.iterations}
    head = chosen.rows.head(count)
    for place in range(count):
        points |= {item.point for one in chosen.iterations_of(place) for item in one.items}
    if points:
        frames.append(answer.operations[answer.operations["point"].isin(points)])
    own = answer.frame[~answer.frame["workload"].isin(suites)]
    keys = {tuple(map(str, row)) for row in head[list(found.axes)].itertuples(index=False, name=None)}
    rows = own[list(found.axes)].itertuples(index=False, name=None)
    frames.append(own[[tuple(map(str, row)) in keys for row in rows]])
    return _told(frames)


def _told(frames: Sequence[pd.DataFrame]) -> str:
    seconds = sum(each for frame in frames if len(frame) for each in seconds_of(frame) if each == each)
    return f"about {format_duration(seconds)} of one core"


def continues_question(name: str, content: Mapping[str, Any], root: Path = Path(), *, force: bool) -> bool:
    """Whether a sweep that asks gem5 the same is there already.

    Raises:
        ConfigError: the name cannot be used, or is that of another sweep.
    """
    path = root / paths.sweep_file(name)
    wanted = f"{content['description']} {_ASKED}"
    if path.is_file() and not force and load_sweep(name, root).description == wanted:
        return True
    check_new_name(name, "sweep", path, force=force)
    return False


def save_question(
    content: Mapping[str, Any], answer: Answer, name: str, root: Path = Path(), *, force: bool
) -> Path:
    """Keep a question as a sweep on gem5-kernels. Raises ConfigError: the name cannot be used."""
    modelled = all(not_refused(item.why) for one in answer.iterations for item in one.items)
    asked = {
        **content,
        "description": f"{content['description']} {_ASKED}",
        "engines": engines_for(all_modelled=modelled),
        "on_failure": "record",
    }
    return save(asked, name, root, force=force)


def compared(frame: pd.DataFrame, results: pd.DataFrame) -> Iterator[str]:
    """gem5's cycles beside the preview's: a line per point that gem5 completed, and how many were inside."""
    axes = [name for name in frame.attrs.get("axes", ()) if name in results.columns]
    found = beside(frame, results, axes)
    for row in found.to_dict("records"):
        where = ", ".join([row["workload"], *(f"{name.removeprefix('layer.')} {row[name]}" for name in axes)])
        inside = "inside" if row["inside"] else "outside of"
        yield (
            f"gem5: {where}: {row['gem5']:,.0f} cycles, preview {row['preview']:,.0f} ({row['error']:+.1%}), "
            f"{inside} the interval"
        )
    failed = results[results["status"] != COMPLETED]
    for row in failed.to_dict("records"):
        yield f"gem5: {row['workload']}: {row['status']}: {row['evidence']}"


def beside(frame: pd.DataFrame, results: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """gem5's cycles beside the preview's, a row per point that gem5 completed.

    Columns: ``workload``, the axes, ``gem5`` and ``preview`` (cycles), ``error`` (preview over gem5, less 1),
    ``inside`` (whether gem5's cycles lie in the preview's interval).
    """
    keys = ["workload", *axes]
    done = results[results["status"] == COMPLETED]
    texts = [each.assign(**{key: each[key].astype(str) for key in keys}) for each in (frame, done)]
    joined = texts[0].merge(texts[1][[*keys, "gpu_cycles"]], on=keys, suffixes=("", "_gem5"))
    cycles, measured = joined["gpu_cycles"].astype(float), joined["gpu_cycles_gem5"].astype(float)
    low, high = (joined[name].astype(float) for name in INTERVAL)
    found = joined[keys].assign(gem5=measured, preview=cycles, error=cycles / measured - 1)
    return found.assign(inside=(low <= measured) & (measured <= high))
