"""From the graph of an ONNX or PyTorch model to a table of layers.

Nodes that compute nothing (Reshape, Dropout in inference ...) pass on their input's name. Source of the
operators' meaning: ONNX operator schemas, opset 13 and later.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.suites.models import HANDED_ON, OTHER_TYPE, Cells, Graph, Node, NoRowError, Problem
from apuflow.suites.network import COLUMNS, IMAGES, SHARES
from apuflow.suites.node_rows import ROWS, notes, row


class NoTableError(ConfigError):
    """A model that a table of layers cannot hold."""


@dataclass(frozen=True)
class Imported:
    """A model as a table (CSV, one image), and sentences about parts of the model that it lacks."""

    text: str
    left_out: tuple[str, ...]


def imported(graph: Graph) -> Imported:
    """The table of a network's layers, and the parts of the model that it lacks.

    Raises ConfigError: all operators, shapes, paddings or types that a table of layers cannot hold.
    """
    made = _Rows(graph)
    for node in graph.nodes:
        made.add(node)
    problems = [*graph.problems, *made.problems]
    if problems:
        what, names = _counted(problems), named_problems(problems)
        remedy = "export the model without them, or write the table by hand (configs/networks/README.md)"
        raise NoTableError(what, file=graph.source, value=names, remedy=remedy)
    if not made.rows:
        raise ConfigError("the model has no layer", file=graph.source, remedy="give a model with layers")
    return Imported(_text(made.rows), tuple(dict.fromkeys((*graph.left_out, *made.left_out))))


def _counted(problems: Sequence[Problem]) -> str:
    tensors = sum(op.startswith(OTHER_TYPE) for op, _, _ in problems)
    rowless = len(problems) - tensors
    said = [f"{many(rowless, 'operator')} without a row in a table of layers"] if rowless else []
    said += [f"{many(tensors, 'tensor')} of another type than fp32"] if tensors else []
    return " and ".join(said)


def named_problems(problems: Sequence[Problem]) -> str:
    """All operators by name; those of a kind with the same reason together, with their number."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for op, name, why in problems:
        kinds.setdefault((op, why), []).append(name)
    said = []
    for (op, why), names in kinds.items():
        known = [name for name in names if name]
        count = f"{len(names)} x " if len(names) > 1 else ""
        which = f" ({', '.join(known)})" if known else ""
        said.append(f"{count}{op}{which}" + (f": {why}" if why else ""))
    return "; ".join(said)


class _Rows:
    """Rows that are made from nodes, nodes without a row, and sentences about what rows lack."""

    def __init__(self, graph: Graph) -> None:
        self.rows: list[Cells] = []
        self.problems: list[Problem] = []
        self.left_out: list[str] = []
        self._graph = graph
        self._made_by = dict.fromkeys(graph.images, IMAGES)
        self._origin: dict[str, str] = {name: name for name in graph.weights}
        """The weight of a weight, or of a value computed from one."""
        self._used: dict[str, str] = {}
        """The row of a weight, by the weight's name."""
        self._by_name: dict[str, Cells] = {}

    def add(self, node: Node) -> None:
        """Add the next node of the graph."""
        given = [name for name in node.inputs if name]
        read = [name for name in given if name not in self._origin]
        if not read:  # values computed from weights alone are weights
            origin = self._origin[given[0]] if given else node.outputs[0]
            self._origin |= dict.fromkeys(node.outputs, origin)
            return
        if node.op in HANDED_ON:
            self._made_by |= {
                name: self._made_by[read[0]] for name in node.outputs if read[0] in self._made_by
            }
            if node.op == "Dropout":
                self.left_out.append("Dropout.")
        elif node.op not in ROWS:
            self.problems.append((node.op, node.name, ""))
            self._made_by |= dict.fromkeys(node.outputs, "?")
        else:
            self._row(node, read)

    def _row(self, node: Node, read: Sequence[str]) -> None:
        name = unique(node.name or node.op, self._by_name)
        self._made_by |= dict.fromkeys(node.outputs, name)
        try:
            self._check_batch(node, read)
            cells = row(node, replace(self._graph, weights=frozenset(self._origin)))
            inputs = self._inputs(read, cells)
            cells |= self._shared(node, cells, name)
        except NoRowError as error:
            self.problems.append((node.op, node.name, str(error)))
            return
        except (KeyError, IndexError, TypeError) as error:
            self.problems.append((node.op, node.name, f"a size or attribute of it is not known: {error}"))
            return
        self.left_out += notes(node)
        named: Cells = {"name": name, "inputs": " ".join(inputs), **cells}
        self.rows.append(named)
        self._by_name[name] = named

    def _check_batch(self, node: Node, read: Sequence[str]) -> None:
        """Refuse a tensor whose first dimension is not the images."""
        batches = {self._graph.shapes[name][0] for name in self._graph.images if self._graph.shapes.get(name)}
        for name in (*read, node.outputs[0]):
            dims = self._graph.shapes.get(name)
            if dims and len(batches) == 1 and dims[0] not in batches:
                images = many(next(iter(batches)), "image")
                raise NoRowError(f"a tensor of {'x'.join(map(str, dims))} for {images}")

    def _inputs(self, read: Sequence[str], cells: Cells) -> list[str]:
        inputs = [self._made_by.get(name, IMAGES) for name in read]
        if cells["op"] not in ("add", "concat"):
            return list(dict.fromkeys(inputs))
        if len(set(inputs)) < len(inputs):
            raise NoRowError("it reads one tensor twice")
        if cells["op"] == "concat":
            before = [self._by_name[name] for name in inputs if name in self._by_name]
            sides = {(each["out_h"], each["out_w"]) for each in before}
            channels = sum(int(each["out_c"]) for each in before)
            alike = sides == {(cells["out_h"], cells["out_w"])} and channels == cells["out_c"]
            if len(before) == len(inputs) and not alike:
                raise NoRowError("it joins tensors that were reshaped")
        return inputs

    def _shared(self, node: Node, cells: Cells, name: str) -> Cells:
        """The earlier row that has a layer's weights.

        If equal constants are merged, biases and normalisations of two layers may be equal by chance (zeros
        before training). A bias alone therefore shares nothing, a normalisation only if the layer that it
        reads does.
        """
        weights = [self._origin[given] for given in node.inputs if given in self._origin]
        if not weights or not cells.get("params"):
            return {}
        owners = [self._used.get(weight, "") for weight in weights]
        read = self._by_name.get(self._made_by.get(node.inputs[0], ""), {})
        by_chance = not owners[0] or (cells["op"] == "batchnorm" and SHARES not in read)
        if not any(owners) or (self._graph.merged and by_chance):
            self._used |= dict.fromkeys(weights, name)
            return {}
        owner = owners[0]
        if set(owners) != {owner}:
            raise NoRowError("it shares some of its weights with another layer, and not all of them")
        same = ("op", "in_c", "out_c", "kernel_h", "kernel_w", "groups", "bias", "params")
        if any(cells.get(key) != self._by_name[owner].get(key) for key in same):
            raise NoRowError(f"it uses the weights of {owner} in another shape")
        return {SHARES: owner, "params": 0}


def _text(rows: Sequence[Cells]) -> str:
    stream = io.StringIO()
    columns = ["seq", *COLUMNS, *([SHARES] if any(SHARES in row for row in rows) else ())]
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for number, cells in enumerate(rows, 1):
        writer.writerow({"seq": number, **cells})
    return stream.getvalue()


def unique(name: str, taken: Mapping[str, Cells]) -> str:
    """A new name without blanks."""
    plain = name.strip("/").replace(" ", "_") or "layer"
    number, found = 1, plain
    while found in taken or found == IMAGES:
        number, found = number + 1, f"{plain}_{number}"
    return found
