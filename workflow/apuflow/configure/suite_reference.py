"""The generated tables of docs/networks.md: what there is in each suite, and what its steps run as."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core import paths
from apuflow.suites.spec import Refused, Spec
from apuflow.suites.step import Choice
from apuflow.suites.suite import Suite

SUITE_HEADINGS = ("suite", "steps", "distinct", "learnt values", "multiply-adds", "published", "not run")
KIND_HEADINGS = ("in a table", "runs as", "not run, and why")


def suite_rows(root: Path) -> list[tuple[str, ...]]:
    """A row per suite, under ``SUITE_HEADINGS``; of all its sets, forward, backward and update."""
    with (root / paths.network_table("index")).open(encoding="utf-8") as stream:
        published = {row["network"]: row["check"] for row in csv.DictReader(stream)}
    return [_row(suite, published.get(suite.table.stem, "")) for suite in _suites(root)]


def kind_rows(root: Path) -> list[tuple[str, ...]]:
    """A row per kind of step, under ``KIND_HEADINGS``, unless all run as the operation of the same name."""
    kinds: dict[str, dict[str, None]] = {}
    reasons: dict[str, dict[str, None]] = {}
    for suite in _suites(root):
        for step, spec in suite.specified(Choice()):
            kinds.setdefault(step.op, {})
            if isinstance(spec, Spec):
                kinds[step.op][f"`{spec.kind}`"] = None
            else:
                reasons.setdefault(step.op, {})[spec.why] = None
    rows = [(op, _joined(kinds[op]), _joined(reasons.get(op, {}))) for op in sorted(kinds)]
    return [row for row in rows if row[1:] != (f"`{row[0]}`", "-")]


def _suites(root: Path) -> list[Suite]:
    return [load_suite(name, root) for name in suite_names(root)]


def _row(suite: Suite, published: str) -> tuple[str, ...]:
    found = suite.specified(Choice())
    left = Counter(step.op for step, spec in found if isinstance(spec, Refused))
    network = suite.network or suite.sequence
    return (
        f"`{suite.name}`",
        str(len(found)),
        str(len({spec for _, spec in found if isinstance(spec, Spec)})),
        f"{network.params:,}" if network else "-",
        f"{network.macs / 1e9:,.3f} G" if network else "-",
        published or "-",
        _joined(f"{count} {op}" for op, count in left.items()),
    )


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "-"
