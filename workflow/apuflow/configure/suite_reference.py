"""The generated table of docs/networks.md: what the steps of each suite run as, which do not, and why."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core import paths
from apuflow.miopen import Launch
from apuflow.suites.lists import OPERATIONS
from apuflow.suites.spec import Refused, Spec, spec_of
from apuflow.suites.step import Choice
from apuflow.suites.suite import Suite

HEADINGS = ("suite", "steps", "distinct", "run as", "direct", "not run, and why")


def suite_rows(root: Path) -> list[tuple[str, ...]]:
    """A row per suite, under ``HEADINGS``; of all its sets, forward, backward and update."""
    return [_row(load_suite(name, root)) for name in suite_names(root)]


TOTAL_HEADINGS = ("network", "learnt values", "multiply-adds", "published")


def total_rows(root: Path) -> list[tuple[str, ...]]:
    """A row per network, under ``TOTAL_HEADINGS``: what follows from the shapes, what the index states."""
    with (root / paths.network_table("index")).open(encoding="utf-8") as stream:
        published = {row["network"]: row["check"] for row in csv.DictReader(stream)}
    found: list[tuple[str, ...]] = []
    for name in suite_names(root):
        suite = load_suite(name, root)
        network = suite.network or suite.sequence
        if network is not None:
            size, work = f"{network.params:,}", f"{network.macs / 1e9:,.3f} G"
            found.append((f"`{name}`", size, work, published.get(suite.table.stem) or "-"))
    return found


def _row(suite: Suite) -> tuple[str, ...]:
    found = [(step, spec_of(step)) for step in suite.steps(Choice())]
    run = [(step, spec) for step, spec in found if isinstance(spec, Spec)]
    left: dict[tuple[str, str], Counter[str]] = {}
    for step, spec in found:
        if isinstance(spec, Refused):
            left.setdefault((step.op, spec.why), Counter())[step.phase] += 1
    kinds: dict[str, list[str]] = {}
    for op, kind in dict.fromkeys((step.op, spec.kind) for step, spec in run):
        kinds.setdefault(op, []).append(f"`{kind}`")
    reasons = (
        f"{op}: {', '.join(f'{count} {phase}' for phase, count in phases.items())} ({why})"
        for (op, why), phases in left.items()
    )
    return (
        f"`{suite.name}`",
        str(len(found)),
        str(len({spec for _, spec in run})),
        _joined(f"{op}: {', '.join(names)}" for op, names in kinds.items()),
        _direct(suite),
        _joined(reasons),
    )


def _direct(suite: Suite) -> str:
    """The convolutions for which MIOpen has direct kernels here; in part: for one gradient of two."""
    if suite.kind == OPERATIONS:
        return "-"
    found: dict[str, list[Spec]] = {"forward": [], "backward": []}
    for step in suite.steps(Choice(algorithm="direct")):
        if step.op == "conv" and isinstance(spec := spec_of(step), Spec):
            found[step.phase].append(spec)
    said = []
    for phase, convolutions in found.items():
        direct = [spec for spec in convolutions if ("algorithm", "direct") in spec.keys]
        mixed = sum(any(one.gemm for one in _launches(spec)) for spec in direct)
        in_part = f" ({mixed} in part)" if mixed else ""
        said += [f"{phase} {len(direct)} of {len(convolutions)}{in_part}"] if convolutions else []
    return _joined(said)


def _launches(spec: Spec) -> tuple[Launch, ...]:
    return spec.operation().launches(spec.direction, 4)


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts) or "-"
