"""Networks of operators (``kind: operators``): a row for each operator, its sizes as expressions.

Names in the expressions: ``n`` (inputs or sequences), ``sequence`` (new tokens of each), ``cached`` (tokens
in the cache before them), ``layers``, and ``sizes`` of the suite's file. Only the forward pass is there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate
from apuflow.suites.operator_kernels import TYPES, VARIANTS, runs
from apuflow.suites.operators import Sizes, kind_of, macs_of, sizes_of, values_of
from apuflow.suites.step import ALL_REDUCE, Choice, Step
from apuflow.suites.table import Row, read_rows

COLUMNS: Final = ("name", "op", "sizes", "repeats", "params", "cache", "type")
"""``params``: learnt values of a repeat; ``cache``: values that a repeat keeps for later tokens; ``type``: of
its numbers; empty: the suite's."""
SHARDS: Final = "tensor_parallel"
CHOSEN: Final = ("n", "sequence", "cached", "layers")
"""Sizes that a sweep's ``layer`` may choose."""
FORMULA: Final = "computed by the ring formula"


@dataclass(frozen=True)
class CacheMemory:
    """Bytes that one device needs for a forward pass, by part.

    Attributes:
        weights: learnt values.
        activations: the output of every operator, as if none made room for another.
        cache: keys and values of all tokens, the new ones included.
    """

    weights: int
    activations: int
    cache: int


@dataclass(frozen=True)
class Operator:
    """A row of the table with its sizes on one device; ``params`` and ``cache`` are those of a repeat."""

    number: int
    name: str
    op: str
    sizes: Sizes
    repeats: int
    params: int
    cache: int
    type: str

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of all repeats."""
        return self.repeats * macs_of(self.op, self.sizes)


@dataclass(frozen=True)
class OperatorNetwork:
    """A table of operators, and the suite's values of the names in it.

    Attributes:
        sizes: the suite's, ``n`` and the others of ``CHOSEN`` among them.
        divided: sizes that the devices of tensor parallelism share out.
        type: of the numbers.
        kernels: workloads of kernels by operator, instead of those of this project.
    """

    rows: tuple[Row, ...]
    sizes: Sizes
    divided: tuple[str, ...]
    type: str
    kernels: tuple[tuple[str, str], ...] = ()

    def operators(self, choice: Choice) -> Iterator[Operator]:
        """Every operator that runs, in order. Raises ConfigError: a mistake in the table or choice."""
        names = self._names(choice)
        for number, row in enumerate(self.rows, 1):
            try:
                op, repeats = row.text("op"), evaluate(row.text("repeats") or 1, names, "repeats")
                if repeats < 1 or (op == ALL_REDUCE and names[SHARDS] == 1):
                    continue
                params, cache = (evaluate(row.text(key) or 0, names, key) for key in ("params", "cache"))
                kind = row.text("type") or self.type
                if kind not in TYPES:
                    raise ConfigError("no such type", key="type", remedy=f"one of {', '.join(TYPES)}")
                sizes = sizes_of(op, row.text("sizes"), names)
            except ConfigError as error:
                key = error.key or "sizes"
                raise row.wrong(key, error.message, error.remedy or "correct the cell") from None
            yield Operator(number, row.text("name"), op, sizes, repeats, params, cache, choice.type or kind)

    @cached_property
    def _named(self) -> frozenset[str]:
        """Names in the table's expressions."""
        cells = (row.text(column) for row in self.rows for column in ("sizes", "repeats", "cache"))
        values = (value for cell in cells for value in re.findall(r"(?:^|=)(\S*)", cell))
        return frozenset(name for value in values for name in re.findall(r"[A-Za-z_]\w*", value))

    def _names(self, choice: Choice) -> dict[str, int]:
        names = dict(self.sizes)
        for name in CHOSEN:
            given = getattr(choice, name)
            if given is not None and name not in self._named:
                what, remedy = (
                    f"this network has no open size {name}",
                    f"it has {', '.join(self._named & names.keys())}",
                )
                raise ConfigError(what, key=f"layer.{name}", value=given, remedy=remedy)
            names |= {} if given is None else {name: given}
        shards = choice.tensor_parallel
        for name in self.divided if shards > 1 else ():
            if names[name] % shards:
                what = f"{names[name]} {name} cannot be shared by {shards} devices"
                raise ConfigError(
                    what, key=f"layer.{SHARDS}", value=shards, remedy=f"a divisor of {names[name]}"
                )
            names[name] //= shards
        if shards > 1 and not self.divided:
            what, remedy = (
                "this network does not say what devices share",
                "divided: [heads, ...] in its suite",
            )
            raise ConfigError(what, key=f"layer.{SHARDS}", value=shards, remedy=remedy)
        return {**names, SHARDS: shards}

    @cached_property
    def params(self) -> int:
        """Learnt values."""
        return sum(each.repeats * each.params for each in self.operators(Choice()))

    @cached_property
    def macs(self) -> int:
        """Multiply-adds of the forward pass at the suite's sizes."""
        return sum(each.multiply_adds for each in self.operators(Choice()))

    def steps(self, choice: Choice) -> Iterator[Step]:
        """What runs, in order; an operator that runs in parts has a step for each.

        Raises ConfigError: as ``operators``, or a type that the GPU's kernels do not have.
        """
        own: Mapping[str, str] = dict((*self.kernels, *choice.kernels))
        self._check_kernels(own)
        for each in self.operators(choice):
            number, name, op = each.number, each.name, each.op
            if op == ALL_REDUCE:
                words = each.sizes["elements"] * TYPES[each.type] // TYPES["float"]
                yield Step(number, name, op, "forward", {"elements": words}, each.repeats, why=FORMULA)
                continue
            for run in runs(op, each.sizes, each.type, choice.gfx, own, choice.attention == "parts"):
                yield Step(
                    *(number, name + run.suffix, run.step, "forward", run.shape),
                    repeats=each.repeats * run.repeats,
                    flop=2 * each.repeats * run.macs,
                    why=run.why,
                    workload=run.workload,
                )

    def _check_kernels(self, own: Mapping[str, str]) -> None:
        ops = {row.text("op") for row in self.rows} - {ALL_REDUCE}
        ops |= {part for op in ops for part in kind_of(op).within.split()}
        ops |= {name for name, (of, _) in VARIANTS.items() if of in ops}
        for name, workload in own.items():
            if name not in ops:
                what, remedy = (
                    f"this network has no operator {name}",
                    f"its operators: {', '.join(sorted(ops))}",
                )
                raise ConfigError(what, key=f"layer.kernels.{name}", value=workload, remedy=remedy)

    def memory(self, choice: Choice, rows: Collection[int]) -> CacheMemory:
        """Bytes on one device for the operators of these rows of the table, from 1."""
        every = [each for each in self.operators(choice) if each.number in rows]
        sized = [(each, each.repeats * TYPES[each.type]) for each in every]
        return CacheMemory(
            sum(size * each.params for each, size in sized),
            sum(size * values_of(each.op, each.sizes) for each, size in sized),
            sum(size * each.cache for each, size in sized),
        )


def read_operators(
    file: Path,
    sizes: Sizes,
    divided: tuple[str, ...] = (),
    kind: str = "float",
    kernels: tuple[tuple[str, str], ...] = (),
) -> OperatorNetwork:
    """The network of a table. Raises ConfigError: not a table of operators, or it divides an unknown size."""
    for name in divided:
        if name not in sizes:
            remedy = f"one of {', '.join(sizes)}"
            raise ConfigError(
                "the suite divides a size that it does not have", key="divided", value=name, remedy=remedy
            )
    return OperatorNetwork(read_rows(file, COLUMNS), sizes, divided, kind, kernels)
