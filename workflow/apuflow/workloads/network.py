"""A network of the user's own, from a model to a suite."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure.base import NAME
from apuflow.configure.loading import suite_names
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_files
from apuflow.core.words import many
from apuflow.suites.exported import read_torch
from apuflow.suites.graph import NoTableError, imported
from apuflow.suites.models import Graph
from apuflow.suites.network import read_network
from apuflow.suites.onnx_file import read_onnx
from apuflow.suites.operator_network import read_operators
from apuflow.suites.operator_rows import imported_operators


def add_network(
    model: str, name: str, shape: str, n: int, root: Path, *, partial: bool = False
) -> tuple[list[Path], str]:
    """Write the table and the suite of a model; return the files, and the model's totals in words.

    Args:
        model: an ONNX file, or ``package.module:Name`` or ``file.py:Name``.
        shape: of the inputs of a PyTorch module, as ``nx3x224x224`` (``suites.exported.inputs_of``).
        n: images of an iteration.
        partial: leave out what is not known; the suite names it.

    A model whose operators are all layers becomes a table of layers, which can be trained; another one a
    table of operators.

    Raises ConfigError: the name is taken or no name, the model cannot be read or has unknown operators.
    """
    if not NAME.match(name) or ".." in name:
        remedy = "letters, digits, dot, dash and underscore"
        raise ConfigError("not the name of a network", value=name, remedy=remedy)
    files = [root / paths.network_table(name), root / paths.suite_file(name)]
    if name in suite_names(root) or any(file.exists() for file in files):
        raise ConfigError("there is such a network already", file=files[0], remedy="take another name")
    graph = read_onnx(Path(model)) if ":" not in model else read_torch(model, shape)
    try:
        found = _layers(graph)
    except NoTableError:
        found = _operators(graph, partial=partial)
    left_out = f"left_out: {json.dumps(' '.join(found.left_out))}\n" if found.left_out else ""
    suite = (
        f"description: {json.dumps(f'{name}, read from {model}')}\ntable: {name}\nn: {n}\n{found.keys}"
        f"source: {json.dumps(f'apuflow network import {model} {name}')}\n{left_out}"
    )
    write_files({files[0]: found.text.encode(), files[1]: suite.encode()})
    return files, (
        f"{found.said(files[0])}; name it in a sweep: suites: [{name}]"
        + (f"\nleft out: {' '.join(found.left_out)}" if found.left_out else "")
    )


@dataclass(frozen=True)
class _Found:
    """A model as a table, the keys of its suite, what the table lacks, and what there is, in words."""

    text: str
    keys: str
    left_out: tuple[str, ...]
    said: Callable[[Path], str]


def _layers(graph: Graph) -> _Found:
    if not {*graph.types.values()} <= {"", "float"}:
        raise NoTableError("a table of layers is in fp32")
    made = imported(graph)

    def said(file: Path) -> str:
        network = read_network(file)
        return (
            f"{many(len(network.layers), 'layer')}, {network.params:,} learnt values, "
            f"{network.macs / 1e9:,.3f} G multiply-adds per image"
        )

    return _Found(made.text, "kind: network\n", made.left_out, said)


def _operators(graph: Graph, *, partial: bool) -> _Found:
    made = imported_operators(graph, partial=partial)
    sizes = {name: value for name, value in graph.names.items() if name != "n"}
    keys = f"kind: operators\ntype: {made.type}\n" + (f"sizes: {json.dumps(sizes)}\n" if sizes else "")

    def said(file: Path) -> str:
        network = read_operators(file, {"n": 1, **sizes}, (), made.type)
        return (
            f"{many(len(network.rows), 'operator')}, {network.params:,} learnt values, "
            f"{network.macs / 1e9:,.3f} G multiply-adds at n = 1; "
            f"open sizes: {', '.join(graph.names) or 'none'}"
        )

    return _Found(made.text, keys, made.left_out, said)
