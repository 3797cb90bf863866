"""From the graph of a model to a table of operators, and what of the model nobody here knows."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.suites.graph import named_problems, unique
from apuflow.suites.models import Cells, Graph, Node, Problem
from apuflow.suites.node_operators import EXACT, VIEWS, cells, operators, reduction, times
from apuflow.suites.operator_network import COLUMNS
from apuflow.suites.operators import macs_of, sizes_of

_LOST: Final = {
    **dict.fromkeys(("Gemm", "Conv", "ConvTranspose"), (2, "The biases of products and convolutions.")),
    "Attention": (3, "The masks of attention."),
    "LogSoftmax": (0, "The logarithm behind a softmax."),
    "Prelu": (1, "The slopes of PReLU: one constant is in their place."),
}
"""By operator: the place of an input that its row lacks, and a sentence about it."""


@dataclass(frozen=True)
class ImportedOperators:
    """A model as a table (CSV), the type of most of its work, and sentences about what it lacks."""

    text: str
    type: str
    left_out: tuple[str, ...]


def imported_operators(graph: Graph, *, partial: bool = False) -> ImportedOperators:
    """The table of a network's operators. ``partial``: without those that nobody here knows.

    Raises ConfigError: all operators that are not known, and tensors of other types.
    """
    if graph.problems:
        what, names = "the model has parts that cannot be imported", named_problems(graph.problems)
        raise ConfigError(what, file=graph.source, value=names, remedy="change them, as each says")
    made = _Table(replace(graph, nodes=list(fused(graph))))
    made.add_all()
    left_out = [*graph.left_out, *made.left_out]
    if made.problems:
        share = made.share()
        said = f"{many(len(made.problems), 'operator')} that are not known here"
        said += f", {share:.1%} of the model's multiply-adds" if share else ", without multiply-adds"
        named = named_problems(made.problems)
        if not partial:
            remedy = "--partial imports the rest; or export the model without them"
            raise ConfigError(said, file=graph.source, value=named, remedy=remedy)
        left_out.append(f"{said}: {named}.")
    if not made.rows:
        raise ConfigError("the model has no operator", file=graph.source, remedy="give a model with layers")
    kind = made.usual_type()
    rows = [{**row, "type": "" if row["type"] == kind else row["type"]} for row in made.rows]
    return ImportedOperators(_text(rows), kind, tuple(dict.fromkeys(left_out)))


@dataclass
class _Table:
    """Rows made from nodes, and nodes without any."""

    graph: Graph
    rows: list[Cells] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _origin: dict[str, str] = field(default_factory=dict)
    """The weight of a weight, or of a value computed from some."""
    _counted: set[str] = field(default_factory=set)
    _turned: set[str] = field(default_factory=set)
    """Tensors whose last two dimensions are exchanged."""
    _taken: dict[str, Cells] = field(default_factory=dict)
    _lost: int = 0
    _work: Counter[str] = field(default_factory=Counter)

    def add_all(self) -> None:
        """Add every node of the graph."""
        self._origin = {name: name for name in self.graph.weights}
        for node in self.graph.nodes:
            self._add(node)

    def _add(self, node: Node) -> None:
        read = [name for name in node.inputs if name and name not in self._origin]
        if not read or node.op in VIEWS:
            self._pass_on(node, read)
            return
        types = [self.graph.types.get(name, "float") for name in (*node.outputs[:1], *read)]
        if node.op == "Filled":
            self._origin[node.outputs[0]] = node.outputs[0]
            return
        if not any(types):  # whole numbers: places of tokens, masks
            return
        if node.op == "MatMul" and node.inputs[1] in self._turned:
            node = replace(node, attributes={**node.attributes, "stored_turned": 1})
        known = operators(node, replace(self.graph, weights=frozenset(self._origin)))
        if known is None or known.why:
            self.problems.append((node.op, node.name, known.why if known else ""))
            self._lost += int(node.attributes.get("macs", 0))
            return
        place, said = _LOST.get(node.op, (0, ""))
        if any(node.inputs[place : place + 1]) and said:
            self.left_out.append(said)
        if node.op.startswith("Reduce") and reduction(node) not in EXACT:
            self.left_out.append(f"{reduction(node)}: a sum or maximum of as many elements is in its place.")
        kind = next(filter(None, types))
        for sized in known.rows:
            params = sum(self._learnt(name) for name in node.inputs)
            name = unique(node.name or node.op, self._taken)
            made = self._taken[name] = cells(name, sized, params, kind)
            self.rows.append(made)
            self._work[kind] += self._macs(made)

    def _pass_on(self, node: Node, read: Sequence[str]) -> None:
        if not read:
            given = [name for name in node.inputs if name]
            origin = self._origin[given[0]] if given else node.outputs[0]
            self._origin |= dict.fromkeys(node.outputs, origin)
        if node.op == "Dropout":
            self.left_out.append("Dropout.")
        if node.op == "Transpose" and self._turns(node):
            self._turned.add(node.outputs[0])

    def _turns(self, node: Node) -> bool:
        dims = len(self.graph.shapes.get(node.inputs[0], ()))
        order = node.attributes.get("perm", node.attributes.get("dims"))
        if order is not None:
            return [place % dims for place in order] == [*range(dims - 2), dims - 1, dims - 2]
        pair = [int(node.attributes.get(f"dim{side}", side)) % dims for side in (0, 1)]
        return sorted(pair) == [dims - 2, dims - 1]

    def _learnt(self, name: str) -> int:
        """Values of a learnt tensor that no earlier row has counted."""
        origin = self._origin.get(name, "")
        if origin in self._counted:
            return 0
        self._counted.add(origin)
        return self.graph.learnt.get(origin, 0)

    def _macs(self, made: Cells) -> int:
        op = str(made["op"])
        return macs_of(op, sizes_of(op, str(made["sizes"]), self.graph.names))

    def share(self) -> float:
        """Share of the multiply-adds in what is not known."""
        return self._lost / max(1, self._lost + sum(self._work.values()))

    def usual_type(self) -> str:
        """The type of most multiply-adds."""
        return max(self._work, key=lambda kind: self._work[kind])


def fused(graph: Graph) -> Iterator[Node]:
    """The nodes, in which SiLU and its product (SwiGLU), and the parts of a rotary embedding are one."""
    readers = Counter(name for node in graph.nodes for name in set(node.inputs))
    maker = {name: node for node in graph.nodes for name in node.outputs}
    inside: set[str] = set()
    whole: dict[str, Node] = {}
    for node in graph.nodes:
        for first, second in (node.inputs, node.inputs[::-1]) if len(node.inputs) == 2 else ():
            parts = [maker[name] for name in (first, second) if name in maker]
            found: tuple[Node, set[str]] | None = None
            if node.op == "Mul" and parts and parts[0].op == "Silu" and parts[0].outputs[0] == first:
                if graph.shapes.get(first) == graph.shapes.get(second):
                    made = replace(node, op="Swiglu", inputs=(parts[0].inputs[0], second))
                    found = made, {parts[0].name}
            elif node.op == "Add" and [part.op for part in parts] == ["Mul", "Mul"]:
                found = _rotary(node, parts, graph, maker)
            if found and all(readers[name] == 1 for name in found[1]):
                whole[node.name] = found[0]
                inside |= found[1]
                break
    yield from (whole.get(node.name, node) for node in graph.nodes if node.name not in inside)


def _rotary(
    node: Node, parts: Sequence[Node], graph: Graph, maker: Mapping[str, Node]
) -> tuple[Node, set[str]] | None:
    """``x * cos + join(-second half of x, first half) * sin`` as one node, and the names of its parts."""
    for half in parts[1].inputs:
        joined = maker.get(half)
        if joined is None or joined.op != "Concat" or len(joined.inputs) != 2:
            continue
        minus, first = (maker.get(name) for name in joined.inputs)
        if minus is None or first is None or minus.op != "Neg":
            continue
        second = maker.get(minus.inputs[0])
        tensors = {each.inputs[0] for each in (first, second) if each is not None and each.op == "Slice"}
        for x, cosine in (parts[0].inputs, parts[0].inputs[::-1]):
            if tensors == {x}:
                sizes, turns = graph.sizes(x), graph.sizes(cosine)
                turns = ("1",) * (len(sizes) - len(turns)) + turns
                pairs = list(zip(sizes[1:-1], turns[1:-1], strict=True))
                heads = times(*(size for size, turn in pairs if turn == "1"))
                tokens = times(sizes[0], *(size for size, turn in pairs if turn != "1"))
                found = {"tokens": tokens, "heads": heads, "half": f"({sizes[-1]})//2"}
                made = replace(node, op="Rotary", inputs=(x,), attributes=found)
                return made, {parts[0].name, parts[1].name, joined.name, minus.name}
    return None


def _text(rows: Sequence[Cells]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
