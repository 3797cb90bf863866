"""Layers of a sweep from a CSV file: ``layers: shapes.csv``, one layer a line, its keys in the first."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

from apuflow.configure import yaml_source
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar


def with_layers(document: yaml_source.Document, root: Path) -> tuple[yaml_source.Document, tuple[str, ...]]:
    """A sweep's document with the layers of the CSV files that it names, and those files below ``root``.

    Raises:
        ConfigError: a file cannot be read, or a line of it has not as many cells as the first.
    """
    data = dict(document.data)
    files: list[str] = []

    def filled(part: dict[str, Any], where: tuple[str, ...]) -> dict[str, Any]:
        name = part.get("layers")
        if not isinstance(name, str):
            return part
        file = document.path.parent / name
        lines = read_layers(file, document.where((*where, "layers")), name)
        files.append(
            file.resolve().relative_to(root.resolve()).as_posix() if _below(file, root) else str(file)
        )
        return {**part, "layers": lines}

    data = filled(data, ())
    parts = data.get("per_workload")
    if isinstance(parts, dict):
        data["per_workload"] = {
            name: filled(part, ("per_workload", str(name))) if isinstance(part, dict) else part
            for name, part in parts.items()
        }
    return yaml_source.Document(document.path, data, document.lines), tuple(dict.fromkeys(files))


def _below(file: Path, root: Path) -> bool:
    return file.resolve().is_relative_to(root.resolve())


def read_layers(file: Path, named_at: str, name: str) -> list[dict[str, Scalar]]:
    """The layers of a CSV file: keys in the first line, a layer in each other; lines with # are comments.

    Args:
        named_at: where it is named, for messages.

    Raises:
        ConfigError: it cannot be read, or a line has not as many cells as the first.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    except (OSError, ValueError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "not a CSV file in UTF-8"
        raise ConfigError(
            f"cannot read the layers: {why}",
            file=named_at,
            key="layers",
            value=name,
            remedy=f"put it at {file}, or write the layers as a list",
        ) from error
    numbered = [
        (number, row) for number, row in enumerate(rows, 1) if row and any(row) and not row[0].startswith("#")
    ]
    if len(numbered) < 2:
        raise ConfigError(
            "the file has no layer",
            file=file,
            remedy="layer keys in the first line (n,c,h,w), then a layer in each line",
        )
    keys = [key.strip().removeprefix("layer.") for key in numbered[0][1]]
    if len(set(keys)) < len(keys) or not all(keys):
        raise ConfigError(
            "a column has no name, or two have the same",
            file=f"{file}:{numbered[0][0]}",
            value=",".join(keys),
            remedy="one layer key a column",
        )
    layers: list[dict[str, Scalar]] = []
    for number, row in numbered[1:]:
        if len(row) != len(keys):
            raise ConfigError(
                f"{len(row)} cells under {len(keys)} columns",
                file=f"{file}:{number}",
                value=",".join(row),
                remedy=f"one value for each of {', '.join(keys)}",
            )
        layers.append({key: plain_value(cell.strip()) for key, cell in zip(keys, row, strict=True)})
    return layers


def plain_value(text: str) -> Scalar:
    """A cell or an argument: a number in decimal, true, false, or text.

    Zeros in front mean nothing, as for DNNMark (``atoi``) and ``apu_se.py`` (Python's ``int``).

    Raises:
        ConfigError: a number that is not finite, or has more digits than Python reads.
    """
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        return int(text)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return text
    if not math.isfinite(value := float(text)):
        raise ConfigError("the number is too large", value=text[:80], remedy="write a smaller number")
    return value
