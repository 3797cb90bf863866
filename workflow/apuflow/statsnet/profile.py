"""What a set of suites does, operation by operation, as the preview tells it.

Every column is one distinct operation, every row one number that adds up over operations: launches of a
kernel, cycles of launches of some length, instructions of a class. A set is a sum of its columns, each as
often as the set runs it; so is whatever represents the set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from apuflow import preview
from apuflow.ask.question import described, question
from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.plan.points import AXIS, Member, members
from apuflow.suites.spec import parse
from apuflow.suites.step import Step

CLASSES: Final[Mapping[str, str]] = {
    "vector": "valu_insts",
    "scalar": "salu_insts",
    "scalar memory": "smem_insts",
    "vector memory": "vector_memory_insts",
    "LDS": "lds_insts",
    "other": "other_insts",
}
"""Classes of instructions, and their counters."""
TOTAL: Final = "total"
"""The statistic whose rows are sums; the rows of any other one are its parts."""
FLOP: Final = "floating-point operations"
BYTES: Final = "bytes of DRAM"
FACTOR: Final = 4
"""Ratio of the two limits of a class of lengths or sizes."""
IMAGES: Final = "n"


@dataclass(frozen=True)
class Operations:
    """The distinct operations of a set that launch a kernel.

    Attributes:
        points: by their specification (``Spec.text``), on one machine.
        weights: how often the set runs each.
        steps: a step of each, and the suite that it is from.
        left_out: steps that no engine runs.
    """

    points: Mapping[str, Point]
    weights: pd.Series[float]
    steps: Mapping[str, tuple[str, Step]]
    left_out: int

    @property
    def cycles(self) -> pd.Series[float]:
        """The preview's GPU cycles of each operation, once."""
        return _counters(self.points)["gpu_cycles"]

    @property
    def seconds(self) -> pd.Series[float]:
        """The preview's time of each operation, once."""
        counters = _counters(self.points)
        return counters["gpu_cycles"] * counters["gpu_clock_ticks"] / counters["sim_freq"]


def operations(
    names: Sequence[str], settings: Sequence[str], root: Path = Path(), *, equal: bool = False
) -> Operations:
    """The operations of suites on one machine.

    Args:
        settings: ``key=value`` as ``apuflow ask`` takes them, one value each; ``n`` is for networks of
            layers alone.
        equal: whether every suite counts with the same cycles, those of the longest one.

    Raises:
        ConfigError: an unknown suite or setting, or a suite of which no engine runs anything.
        NotModelled: the preview lacks an option or a kernel.
    """
    points: dict[str, Point] = {}
    steps: dict[str, tuple[str, Step]] = {}
    weights: dict[str, dict[str, float]] = {}
    left_out = 0
    for member in _members(names, settings, root):
        mine = weights.setdefault(member.suite.name, {})
        for step, point in member.items:
            if not isinstance(point, Point):
                left_out += 1
            elif point.previewed()[0]:
                text = str(point.axes[AXIS])
                points.setdefault(text, point)
                steps.setdefault(text, (member.suite.name, step))
                mine[text] = mine.get(text, 0.0) + step.repeats
        if not mine:
            raise ConfigError("no engine runs anything of this suite", value=member.suite.name)
    table = pd.DataFrame(weights, index=list(points)).fillna(0.0)
    if equal:
        spent = table.mul(_counters(points)["gpu_cycles"], axis=0).sum()
        table *= spent.max() / spent
    return Operations(points, table.sum(axis=1), steps, left_out)


def _members(names: Sequence[str], settings: Sequence[str], root: Path) -> list[Member]:
    images = [one for one in settings if _key(one).removeprefix("layer.") == IMAGES]
    suites = [load_suite(name, root) for name in dict.fromkeys(names)]
    content = described(",".join(names), [one for one in settings if one not in images], root)
    if images:
        layer = described(",".join(names), images, root)["layer"]
        networks = [suite.name for suite in suites if suite.network is not None]
        content["per_workload"] = {name: {"layer": layer} for name in networks}
    return members(question(content, root), root)


def check_settings(settings: Sequence[str]) -> None:
    """Refuse settings that vary something.

    Raises:
        ConfigError: one has several values.
    """
    for setting in settings:
        if "," in setting:
            problem = "one value is expected: the statistics are those of one machine"
            raise ConfigError(problem, value=setting, remedy=setting.partition(",")[0])


def replaced(settings: Sequence[str], others: Sequence[str]) -> list[str]:
    """Settings with others in the place of those of the same key."""
    keys = {_key(other) for other in others}
    return [*(setting for setting in settings if _key(setting) not in keys), *others]


def _key(setting: str) -> str:
    return setting.partition("=")[0].strip().replace("_", "-")


def _counters(points: Mapping[str, Point]) -> pd.DataFrame:
    frame = preview.run(list(points.values()), option_rules.defaults(preview.RELEASE))
    return frame.set_index(pd.Index(list(points)))


def statistics(points: Mapping[str, Point]) -> pd.DataFrame:
    """Statistics of operations, by specification, each run once and with at least one launch.

    Returns:
        A column per operation; a row per number, with index ``statistic`` and ``part``.
    """
    frame = preview.kernels_frame(list(points.values()), option_rules.defaults(preview.RELEASE))
    names = {point.id: name for name, point in points.items()}
    operation = frame["point"].map(names)
    kinds = {name: f"{parse(name).kind} {parse(name).direction}" for name in points}
    launches = frame["count"].astype(float)
    cycles = launches * frame["gpu_cycles"]
    classes = {
        "kernel": frame["kernel"],
        "length": size_class(frame["gpu_cycles"], "cycles"),
        "size": size_class(frame["workgroups"], "workgroups"),
    }
    rows: list[tuple[str, Any, pd.Series[Any]]] = []
    for of, part in classes.items():
        rows += [(f"launches by {of}", part, launches), (f"cycles by {of}", part, cycles)]
    rows += [
        ("cycles by operation", operation.map(kinds), cycles),
        ("cycles by limit", frame["bound"], cycles),
        *(("instructions", part, launches * frame[name]) for part, name in CLASSES.items()),
        (TOTAL, "cycles", cycles),
        (TOTAL, "launches", launches),
        *((TOTAL, name, launches * frame[name]) for name in ("workgroups", "instructions")),
        (TOTAL, FLOP, launches * frame["flops"]),
        (TOTAL, BYTES, launches * (frame["dram_bytes_read"] + frame["dram_bytes_written"])),
    ]
    parts = [
        pd.DataFrame({"statistic": statistic, "part": part, "operation": operation, "number": number})
        for statistic, part, number in rows
    ]
    table = pd.concat(parts).pivot_table("number", ["statistic", "part"], "operation", "sum", fill_value=0.0)
    return table.reindex(columns=list(points)).astype(float)


def size_class(values: pd.Series[float], unit: str) -> pd.Series[str]:
    """The class of each value, in words: ``16 to 63 workgroups``; classes differ by ``FACTOR``."""
    exponents = np.floor(np.log(np.maximum(values.to_numpy(float), 1.0)) / np.log(FACTOR) + 1e-9).astype(int)
    words = {e: f"{FACTOR**e:,} to {FACTOR ** (e + 1) - 1:,} {unit}" for e in {int(e) for e in exponents}}
    return pd.Series([words[int(e)] for e in exponents], index=values.index)
