"""A suite: a network or a list of items, from which a part can be selected; and what it is, in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites import lists
from apuflow.suites.image_size import on_images
from apuflow.suites.network import Memory, Network, read_network
from apuflow.suites.operator_network import CacheMemory, OperatorNetwork, read_operators
from apuflow.suites.sequence import Sequence as SequenceNetwork
from apuflow.suites.sequence import read_sequence
from apuflow.suites.spec import Refused, Spec, spec_of
from apuflow.suites.step import ALL_REDUCE, OF_OPERATORS, Choice, Step
from apuflow.suites.table import Row, read_rows

NETWORK: Final = "network"
SEQUENCE: Final = "sequence"
OPERATORS: Final = "operators"
NETWORKS: Final = (NETWORK, SEQUENCE, OPERATORS)
"""Kinds whose table is in ``configs/networks`` and whose steps form an iteration."""
KINDS: Final = (*NETWORKS, *lists.READERS)


@dataclass(frozen=True)
class Suite:
    """A suite of ``configs/suites``.

    Attributes:
        kind: one of ``KINDS``.
        table: its CSV file.
        n: default images of an iteration; None: the table's.
        source: origin of table and batch.
        note: what a reader of its numbers must know.
        left_out: differences from what the source runs; its tables repeat them.
        forward_only: whether the source measures no backward pass, or the sets without one.
        sizes, divided, type, kernels: of a network of operators (``OperatorNetwork``).
    """

    name: str
    description: str
    kind: str
    table: Path
    n: int | None = None
    source: str = ""
    note: str = ""
    left_out: str = ""
    forward_only: bool | tuple[str, ...] = False
    sizes: tuple[tuple[str, int], ...] = ()
    divided: tuple[str, ...] = ()
    type: str = "float"
    kernels: tuple[tuple[str, str], ...] = ()

    @cached_property
    def network(self) -> Network | None:
        """Its layers, for a network of layers."""
        return read_network(self.table) if self.kind == NETWORK else None

    @cached_property
    def sequence(self) -> SequenceNetwork | None:
        """Its parts, for a network of products."""
        return read_sequence(self.table) if self.kind == SEQUENCE else None

    @cached_property
    def operators(self) -> OperatorNetwork | None:
        """Its operators, for a network of operators."""
        if self.kind != OPERATORS:
            return None
        sizes = {"n": self.n or 1, **dict(self.sizes)}
        return read_operators(self.table, sizes, self.divided, self.type, self.kernels)

    @property
    def whole(self) -> Network | SequenceNetwork | OperatorNetwork | None:
        """The network, of whichever kind; None for a list."""
        return self.network or self.sequence or self.operators

    @property
    def is_network(self) -> bool:
        """Whether its steps form an iteration, not a list of items."""
        return self.kind in NETWORKS

    def tokens(self, choice: Choice) -> int | None:
        """New tokens of an iteration, where it has a length of sequences."""
        length = choice.sequence or dict(self.sizes).get("sequence")
        return length and length * (choice.n or self.n or 1)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return read_rows(self.table, lists.READERS[self.kind][1])

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Names of its sets in the order of the table, if it has sets."""
        if self.is_network:
            return ()
        return tuple(dict.fromkeys(step.group for step in self._listed(Choice()) if step.group))

    def steps(self, choice: Choice) -> tuple[Step, ...]:
        """The selected steps in order. Raises ConfigError: an impossible choice, or a mistake in a table."""
        self.check(choice)
        every = self._named(list(self._all(choice)), choice)
        steps = [step for step in every if choice.op in (None, step.op)]
        if choice.op is not None and not steps:
            known = dict.fromkeys(step.op for step in every)
            self._refuse("op", choice.op, "has nothing of this kind", f"one of {', '.join(known)}")
        if not steps:
            what = "has nothing to run in this direction"
            self._refuse("direction", choice.direction, what, "direction: fwd for it")
        return tuple(steps if choice.subset is None else _least(steps, choice.subset))

    def specified(self, choice: Choice) -> tuple[tuple[Step, Spec | Refused], ...]:
        """The selected steps, with what they run as. Raises ConfigError as ``steps``."""
        return tuple((step, spec_of(step)) for step in self.steps(choice))

    def _named(self, every: list[Step], choice: Choice) -> list[Step]:
        names = dict.fromkeys(step.name for step in every)
        chosen, unknown = choice.names(names)
        for pattern in unknown:
            remedy = f"such as {', '.join(list(names)[:24])}: `apuflow list suites {self.name} --csv PATH`"
            self._refuse("steps", pattern, "has no step of this name", remedy)
        if names and not chosen:
            self._refuse("steps", choice.steps, "has no other steps", "leave fewer of them out")
        return [step for step in every if step.name in chosen]

    def _sized(self, choice: Choice) -> Network | None:
        network = self.network
        return network if network is None or choice.image is None else on_images(network, choice.image)

    def _all(self, choice: Choice) -> Iterator[Step]:
        network = self._sized(choice)
        if network is not None:
            yield from network.steps(choice, choice.n or self.n or 1)
        elif self.sequence is not None:
            yield from self.sequence.steps(choice)
        elif self.operators is not None:
            yield from self.operators.steps(choice)
        else:
            yield from (step for step in self._listed(choice) if choice.group in (None, step.group))

    def memory(self, choice: Choice) -> Memory | CacheMemory | None:
        """Bytes of an iteration by part, of operators those of the steps alone; None for a list."""
        network = self._sized(choice)
        if network is not None:
            return network.memory(choice, choice.n or self.n or 1)
        if self.operators is not None:
            rows = {step.item for step in self._named(list(self._all(choice)), choice)}
            return self.operators.memory(choice, rows)
        return self.sequence.memory(choice) if self.sequence is not None else None

    def check(self, choice: Choice) -> None:
        """Refuse a choice that this suite lacks. Raises ConfigError: with key and remedy."""
        layers = self.kind == NETWORK
        no_layers = "is no network of layers"
        operators = self.kind == OPERATORS
        if choice.n is not None and not layers and not operators:
            self._refuse("n", choice.n, "has fixed sizes: each of its items has a batch of its own")
        if operators and choice.direction == "bwd":
            self._refuse("direction", choice.direction, "has the forward pass alone", "direction: fwd")
        usual = Choice()
        for key in OF_OPERATORS if not operators else ():
            if (value := getattr(choice, key)) != getattr(usual, key):
                shown = (
                    ", ".join(f"{op}: {name}" for op, name in choice.kernels) if key == "kernels" else value
                )
                self._refuse(key, str(shown), "is no network of operators, which alone has this key")
        if choice.image is not None and not layers:
            self._refuse("image", choice.image, f"{no_layers}: it has no images to resize")
        if choice.algorithm != "gemm" and self.kind == lists.OPERATIONS:
            self._refuse("algorithm", choice.algorithm, "has fixed operations, their algorithms among them")
        if choice.bias and not layers:
            self._refuse("bias", choice.bias, f"{no_layers}: nothing in it has a bias of its own")
        if choice.group is not None and choice.group not in self.groups:
            remedy = f"one of {', '.join(self.groups)}" if self.groups else "leave set out: it has no sets"
            self._refuse("set", choice.group, "has no such set", remedy)
        if choice.devices > 1 and not self.is_network and self.kind != ALL_REDUCE:
            remedy = "leave devices out for it (per_workload gives it to networks alone)"
            what = "is a list of items: they share nothing with other devices"
            self._refuse("devices", choice.devices, what, remedy)
        if choice.subset is not None and self.is_network:
            what = "is a network: a part of it is no iteration"
            self._refuse("subset", choice.subset, what, "leave subset out for it")

    def _refuse(self, key: str, value: Scalar, why: str, remedy: str = "") -> NoReturn:
        usual = f"leave {key} out for it (per_workload gives it to others alone)"
        raise ConfigError(f"suite {self.name} {why}", key=f"layer.{key}", value=value, remedy=remedy or usual)

    def _listed(self, choice: Choice) -> Iterator[Step]:
        read = lists.READERS[self.kind][0]
        for number, row in enumerate(self._rows, 1):
            yield from (step for step in read(number, row, choice) if self._is_measured(step))

    def _is_measured(self, step: Step) -> bool:
        if step.phase == "forward" or not self.forward_only:
            return True
        return isinstance(self.forward_only, tuple) and step.group not in self.forward_only


def _least(steps: Sequence[Step], count: int) -> list[Step]:
    """Steps of the ``count`` items with the least work (without counted work: memory), in order."""
    work: dict[tuple[int, str], float] = {}
    for step in steps:
        key, sizes = (step.item, step.name), ("n", "c", "h", "w", "elements", "m", "k")
        elements = math.prod(int(step.shape.get(size, 1)) for size in sizes)
        work[key] = work.get(key, 0) + (step.flop or elements)
    chosen = set(sorted(work, key=lambda key: (work[key], key))[:count])
    return [step for step in steps if (step.item, step.name) in chosen]


def overview(suite: Suite) -> tuple[str, str, int, int, int, str]:
    """Name, kind, steps, distinct operations, steps that no engine runs, description."""
    found = suite.specified(Choice())
    distinct = {spec for _, spec in found if isinstance(spec, Spec)}
    left = sum(isinstance(spec, Refused) for _, spec in found)
    return suite.name, suite.kind, len(found), len(distinct), left, suite.description


def details(suite: Suite) -> str:
    """Everything about one suite: totals, what its steps run as, what is not run and why."""
    found = suite.specified(Choice())
    lines = [f"{suite.name}: {suite.description}", f"source: {suite.source}"]
    network = suite.whole
    if network is not None:
        per = "image" if suite.network is not None else "iteration"
        lines.append(
            f"{network.params:,} learnt values, {network.macs / 1e9:,.3f} G multiply-adds per {per}; "
            f"{suite.n or 1} images (sequences) in an iteration"
        )
    if suite.sizes:
        lines.append("sizes: " + ", ".join(f"{name} {value:,}" for name, value in suite.sizes))
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
    """MB of an iteration by part: of networks of layers and of operators for several numbers of images.

    They end where an operation is larger than MIOpen can address.
    """
    batches = BATCHES if suite.sequence is None else (None,)
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
    what = "a forward pass" if suite.operators is not None else "an iteration of training"
    rows = [f"memory of {what}, MB:"]
    rows.append("  " + "".join(f"{name:>13}" for name in ("images", *names, "together")))
    for n, memory in parts:
        sizes = [getattr(memory, name) / 1e6 for name in names]
        cells = [str(n or suite.n or 1), *(f"{size:,.1f}" for size in (*sizes, sum(sizes)))]
        rows.append("  " + "".join(f"{cell:>13}" for cell in cells))
    return rows + end
