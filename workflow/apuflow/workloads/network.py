"""A network of the user's own, from a model to a suite."""

from __future__ import annotations

import json
from pathlib import Path

from apuflow.configure.base import NAME
from apuflow.configure.loading import suite_names
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_files
from apuflow.suites.graph import imported
from apuflow.suites.models import read_onnx
from apuflow.suites.network import read_network
from apuflow.suites.traced import read_torch


def add_network(model: str, name: str, shape: str, n: int, root: Path) -> tuple[list[Path], str]:
    """Write the table and the suite of a model; return the files, and the model's totals in words.

    Args:
        model: an ONNX file, or ``package.module:Name`` or ``file.py:Name``.
        shape: of one input of a PyTorch module, as ``1x3x224x224``.
        n: images of an iteration.

    Raises ConfigError: the name is taken or no name, the model cannot be read or holds what a table cannot.
    """
    if not NAME.match(name) or ".." in name:
        remedy = "letters, digits, dot, dash and underscore"
        raise ConfigError("not the name of a network", value=name, remedy=remedy)
    files = [root / paths.network_table(name), root / paths.suite_file(name)]
    if name in suite_names(root) or any(file.exists() for file in files):
        raise ConfigError("there is such a network already", file=files[0], remedy="take another name")
    graph = read_onnx(Path(model)) if ":" not in model else read_torch(model, _shape(shape))
    made = imported(graph)
    left_out = f"left_out: {json.dumps(' '.join(made.left_out))}\n" if made.left_out else ""
    suite = (
        f"description: {json.dumps(f'{name}, read from {model}')}\nkind: network\ntable: {name}\nn: {n}\n"
        f"source: {json.dumps(f'apuflow network {model} {name}')}\n{left_out}"
    )
    write_files({files[0]: made.text.encode(), files[1]: suite.encode()})
    found = read_network(files[0])
    return files, (
        f"{len(found.layers)} layers, {found.params:,} learnt values, {found.macs / 1e9:,.3f} G "
        f"multiply-adds per image; name it in a sweep: suites: [{name}]"
        + (f"\nleft out: {' '.join(made.left_out)}" if made.left_out else "")
    )


def _shape(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isdigit() and int(part) for part in parts):
        raise ConfigError("not a shape", key="shape", value=text, remedy="write it as 1x3x224x224")
    return tuple(int(part) for part in parts)
