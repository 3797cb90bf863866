"""A suite: a network or a list of items, from which a part can be selected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites import lists
from apuflow.suites.image_size import on_images
from apuflow.suites.network import Memory, Network, check_names, read_network
from apuflow.suites.sequence import Sequence as SequenceNetwork
from apuflow.suites.sequence import read_sequence
from apuflow.suites.step import ALL_REDUCE, Choice, Step, with_algorithm
from apuflow.suites.table import Row, read_rows

NETWORK: Final = "network"
SEQUENCE: Final = "sequence"
KINDS: Final = (NETWORK, SEQUENCE, *lists.READERS)


@dataclass(frozen=True)
class Suite:
    """A suite of ``configs/suites``.

    Attributes:
        name: of its file.
        kind: one of ``KINDS``.
        table: its CSV file.
        n: default images of an iteration; None: the table's.
        source: origin of table and batch.
        note: what a reader of its numbers must know.
        left_out: differences from what the source runs; its tables repeat them.
        forward_only: whether the source measures no backward pass, or the sets without one.
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

    @cached_property
    def network(self) -> Network | None:
        """Its layers, for a network of layers."""
        if self.kind != NETWORK:
            return None
        network = read_network(self.table)
        check_names(network.layers, self.table)
        return network

    @cached_property
    def sequence(self) -> SequenceNetwork | None:
        """Its parts, for a network of products."""
        return read_sequence(self.table) if self.kind == SEQUENCE else None

    @property
    def is_network(self) -> bool:
        """Whether its steps form an iteration, not a list of items."""
        return self.kind in (NETWORK, SEQUENCE)

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
        """The selected steps in order.

        Raises:
            ConfigError: an impossible choice, or a mistake in its table.
        """
        self.check(choice)
        steps = [with_algorithm(step, choice) for step in self._all(choice) if choice.op in (None, step.op)]
        if choice.op is not None and not steps:
            known = dict.fromkeys(step.op for step in self._all(choice))
            raise ConfigError(
                f"suite {self.name} has nothing of this kind",
                key="layer.op",
                value=choice.op,
                remedy=f"one of {', '.join(known)}",
            )
        if not steps:
            raise ConfigError(
                f"suite {self.name} has nothing to run in this direction",
                key="layer.direction",
                value=choice.direction,
                remedy="direction: fwd for it",
            )
        return tuple(steps if choice.subset is None else _least(steps, choice.subset))

    def _sized(self, choice: Choice) -> Network | None:
        """The network on images of the selected size."""
        network = self.network
        return network if network is None or choice.image is None else on_images(network, choice.image)

    def _all(self, choice: Choice) -> Iterator[Step]:
        network = self._sized(choice)
        if network is not None:
            yield from network.steps(choice, choice.n or self.n or 1)
        elif self.sequence is not None:
            yield from self.sequence.steps(choice)
        else:
            yield from (step for step in self._listed(choice) if choice.group in (None, step.group))

    def memory(self, choice: Choice) -> Memory | None:
        """Bytes of an iteration by part; None for a list."""
        network = self._sized(choice)
        if network is not None:
            return network.memory(choice, choice.n or self.n or 1)
        return self.sequence.memory(choice) if self.sequence is not None else None

    def check(self, choice: Choice) -> None:
        """Refuse a choice that this suite lacks.

        Raises:
            ConfigError: with key and remedy.
        """
        what = "a network" if self.is_network else "a list of items"
        if choice.n is not None and self.kind != NETWORK:
            why = f"the sizes of suite {self.name} are fixed: each of its items has a batch of its own"
            raise _for_others("n", choice.n, why)
        if choice.image is not None and self.kind != NETWORK:
            why = f"suite {self.name} is no network of layers: it has no images to resize"
            raise _for_others("image", choice.image, why)
        if choice.algorithm != "gemm" and self.kind == lists.OPERATIONS:
            why = f"the operations of suite {self.name} are fixed, their algorithms among them"
            raise _for_others("algorithm", choice.algorithm, why)
        if choice.bias and self.kind != NETWORK:
            why = f"suite {self.name} is no network of layers: nothing in it has a bias of its own"
            raise _for_others("bias", choice.bias, why)
        if choice.group is not None and choice.group not in self.groups:
            raise ConfigError(
                f"suite {self.name} has no such set",
                key="layer.set",
                value=choice.group,
                remedy=f"one of {', '.join(self.groups)}" if self.groups else "leave set out: it has no sets",
            )
        if choice.devices > 1 and not self.is_network and self.kind != ALL_REDUCE:
            raise ConfigError(
                f"suite {self.name} is {what}: its items share nothing with other devices",
                key="layer.devices",
                value=choice.devices,
                remedy="leave devices out for it (per_workload gives it to networks alone)",
            )
        if choice.subset is not None and self.is_network:
            raise ConfigError(
                f"suite {self.name} is {what}: a part of it is no iteration",
                key="layer.subset",
                value=choice.subset,
                remedy="leave subset out for it",
            )

    def _listed(self, choice: Choice) -> Iterator[Step]:
        read = lists.READERS[self.kind][0]
        for number, row in enumerate(self._rows, 1):
            yield from (step for step in read(number, row, choice) if self._is_measured(step))

    def _is_measured(self, step: Step) -> bool:
        """Whether the source measures this phase of an item."""
        if step.phase == "forward" or not self.forward_only:
            return True
        return isinstance(self.forward_only, tuple) and step.group not in self.forward_only


def _for_others(key: str, value: Scalar, why: str) -> ConfigError:
    return ConfigError(
        why,
        key=f"layer.{key}",
        value=value,
        remedy=f"leave {key} out for it (per_workload gives it to others alone)",
    )


def _least(steps: Sequence[Step], count: int) -> list[Step]:
    """Steps of the ``count`` items with the least work (without counted work: memory), in order."""
    work: dict[tuple[int, str], float] = {}
    for step in steps:
        key = step.item, step.name
        work[key] = work.get(key, 0) + (step.flop or _elements(step))
    chosen = set(sorted(work, key=lambda key: (work[key], key))[:count])
    return [step for step in steps if (step.item, step.name) in chosen]


def _elements(step: Step) -> int:
    product = 1
    for key in ("n", "c", "h", "w", "elements", "m", "k"):
        product *= int(step.shape.get(key, 1))
    return product
