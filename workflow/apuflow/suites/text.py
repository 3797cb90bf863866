"""What a suite is, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from apuflow.core.errors import ConfigError
from apuflow.suites.spec import Refused, Spec
from apuflow.suites.step import Choice
from apuflow.suites.suite import Suite


def overview(suite: Suite) -> tuple[str, str, str, str, str, str]:
    """Name, kind, steps, distinct operations, steps that no engine runs, description."""
    found = suite.specified(Choice())
    distinct = {spec for _, spec in found if isinstance(spec, Spec)}
    left = sum(isinstance(spec, Refused) for _, spec in found)
    return suite.name, suite.kind, str(len(found)), str(len(distinct)), str(left or "-"), suite.description


def details(suite: Suite) -> str:
    """Everything about one suite: totals, what its steps run as, what is not run and why."""
    found = suite.specified(Choice())
    lines = [f"{suite.name}: {suite.description}", f"source: {suite.source}"]
    network = suite.network or suite.sequence
    if network is not None:
        per = "image" if suite.network is not None else "iteration"
        lines.append(
            f"{network.params:,} learnt values, {network.macs / 1e9:,.3f} G multiply-adds per {per}; "
            f"{suite.n or 1} images (sequences) in an iteration"
        )
    lines += _memory(suite)
    if suite.groups:
        counts = Counter(step.group for step, _ in found)
        lines.append("sets: " + ", ".join(f"{group} ({counts[group]})" for group in suite.groups))
    if suite.note:
        lines.append(f"note: {suite.note}")
    if suite.left_out:
        lines.append(f"left out: {suite.left_out}")
    runs = Counter((step.op, step.phase, spec.kind) for step, spec in found if isinstance(spec, Spec))
    lines += ["runs as:", *(f"  {count:4} {op} {phase}: {kind}" for (op, phase, kind), count in runs.items())]
    left = Counter((step.op, step.phase, spec.why) for step, spec in found if isinstance(spec, Refused))
    if left:
        lines.append("not run:")
        lines += (f"  {count:4} {op} {phase}: {why}" for (op, phase, why), count in left.items())
    return "\n".join(lines)


BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Images of an iteration that the table of memory shows."""


def _memory(suite: Suite) -> list[str]:
    """MB of an iteration of training by part: of a network of layers for several numbers of images.

    They end where an operation is larger than MIOpen can address.
    """
    batches = BATCHES if suite.network is not None else (None,)
    parts, end = [], []
    for n in batches:
        try:
            memory = suite.memory(Choice(n=n))
        except ConfigError as error:
            end = [f"  {n} images do not run: {error.message}"]
            break
        if memory is not None:
            parts.append((n, memory))
    if not parts:
        return end
    names = [field.name for field in fields(parts[0][1])]
    rows = ["memory of an iteration of training, MB:"]
    rows.append("  " + "".join(f"{name:>13}" for name in ("images", *names, "together")))
    for n, memory in parts:
        sizes = [getattr(memory, name) / 1e6 for name in names]
        cells = [str(n or suite.n or 1), *(f"{size:,.1f}" for size in (*sizes, sum(sizes)))]
        rows.append("  " + "".join(f"{cell:>13}" for cell in cells))
    return rows + end
