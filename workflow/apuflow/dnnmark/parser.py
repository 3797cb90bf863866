"""Read ``.dnnmark`` text into a network whose shapes are worked out.

Source: DNNMark ``core/src/dnnmark.cc``, ``core/include/dnn_layer.h`` (``Setup``) and ``layers/*_layer.h``.

Cut ``.dnnmark`` text into its sections, as DNNMark's two parsing passes see them.

Source: DNNMark ``core/src/dnnmark.cc`` (``ParseGeneralConfig``, ``ParseLayerConfig``) and ``utility.cc``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, cast

from apuflow.core.errors import ConfigError
from apuflow.dnnmark.layers import (
    DIMENSIONS,
    FIRST,
    LAYER_KEYS,
    PARAMS,
    RUN_MODES,
    Kind,
    Layer,
    Network,
    NoOutput,
    Problem,
    RunMode,
    Shape,
    Value,
    output_shape,
)


@functools.lru_cache(maxsize=16384)
def parse(text: str, file: str | Path | None = None) -> Network:
    """The network that DNNMark builds from ``text``.

    Args:
        text: content of a ``.dnnmark`` file.
        file: its name, for error messages.

    Raises:
        ConfigError: what DNNMark would abort on, or read as something else than was written; with file,
            key and line, value and remedy.
    """
    parts = sections(text, file)
    run_mode = _run_mode(parts, file)
    bodies = [part for part in parts if part.name != GENERAL]
    if not bodies:
        raise ConfigError(
            "no layer", file=file, remedy=f"add a section: {', '.join(f'[{kind}]' for kind in LAYER_KEYS)}"
        )
    layers: list[Layer] = []
    known: dict[str, Layer] = {}
    for part in bodies:
        layer = _layer(part, run_mode, known, file)
        if layer.name:
            if layer.name in known and run_mode == "composed":
                raise ConfigError(
                    "two layers of one name: previous_layer could mean either",
                    file=file,
                    key=f"name (section at line {part.line})",
                    value=layer.name,
                    remedy="give each layer of a composed network a name of its own",
                )
            known[layer.name] = layer
        layers.append(layer)
    return Network(run_mode, tuple(layers))


def _run_mode(parts: list[Section], file: str | Path | None) -> RunMode:
    run_mode = "none"
    for part in parts:
        if part.name != GENERAL:
            continue
        for entry in part.entries:
            if entry.key != "run_mode" or entry.value not in RUN_MODES:
                raise ConfigError(
                    "unknown run mode" if entry.key == "run_mode" else "unknown key of [DNNMark]",
                    file=file,
                    key=f"{entry.key} (line {entry.line})",
                    value=entry.value,
                    remedy=f"the only key is run_mode, with {', '.join(RUN_MODES)}",
                )
            run_mode = entry.value
    return cast(RunMode, run_mode)


def _layer(part: Section, run_mode: RunMode, known: dict[str, Layer], file: str | Path | None) -> Layer:
    keys = LAYER_KEYS[part.name]
    lines: dict[str, int] = {}
    data: dict[str, Value] = {}
    fields: dict[str, Value] = {}
    repeated: list[str] = []
    for entry in part.entries:
        key = keys.get(entry.key)
        if key is None:
            raise ConfigError(
                f"unknown key of [{part.name}]",
                file=file,
                key=f"{entry.key} (line {entry.line})",
                value=entry.value,
                remedy=f"its keys are {', '.join(keys)}",
            )
        try:
            value = key.read(entry.value)
        except ValueError as error:
            raise ConfigError(
                f"value of {key.name} in [{part.name}] is not what DNNMark takes",
                file=file,
                key=f"{entry.key} (line {entry.line})",
                value=entry.value,
                remedy=str(error),
            ) from None
        if key.name in lines:
            repeated.append(key.name)
        lines[key.name] = entry.line
        if key.name in ("name", "previous_layer", *DIMENSIONS):
            data[key.name] = value
        else:
            fields.update(dict.fromkeys(key.fields, value))
    name = str(data.get("name", ""))
    previous = str(data.get("previous_layer", ""))
    given: list[str] = [axis for axis in DIMENSIONS if axis in data]
    shape = _input(part, name, previous, given, data, run_mode, known, file)
    params = PARAMS[part.name](**fields)  # type: ignore[arg-type]
    try:
        output = output_shape(params, shape)
    except NoOutput as error:
        raise ConfigError(
            f"layer {name or part.name} has no output: {error}",
            file=file,
            key=f"[{part.name}] (line {part.line})",
            value=str(shape),
            remedy="make the input larger, the window smaller or the padding larger",
        ) from None
    remarks = [
        Problem("warning", name, f"{key} is given twice; DNNMark takes the last", "remove one of the two")
        for key in repeated
    ]
    if run_mode == "composed" and previous != FIRST and given:
        remarks.append(
            Problem(
                "warning",
                name,
                f"{', '.join(given)}: ignored, the previous layer's output decides",
                "remove the dimensions of all layers but the first",
            )
        )
    return Layer(cast(Kind, part.name), name, previous, shape, output, params, tuple(remarks))


def _input(
    part: Section,
    name: str,
    previous: str,
    given: list[str],
    data: dict[str, Value],
    run_mode: RunMode,
    known: dict[str, Layer],
    file: str | Path | None,
) -> Shape:
    """Where the layer's input comes from (``Layer::Setup``)."""
    where = f"[{part.name}] (line {part.line})"
    label = name or part.name
    if len(given) == len(DIMENSIONS):
        if run_mode == "composed" and previous != FIRST:
            raise ConfigError(
                f"layer {label} of a composed network has dimensions and a previous layer: DNNMark aborts",
                file=file,
                key=where,
                value=previous,
                remedy="previous_layer=null for the first layer; no n, c, h, w in later ones",
            )
        return Shape(*(int(data[axis]) for axis in DIMENSIONS))
    if run_mode != "composed":
        missing = [axis for axis in DIMENSIONS if axis not in data]
        raise ConfigError(
            f"layer {label} lacks {', '.join(missing)}: every layer of a {run_mode} network has dimensions",
            file=file,
            key=where,
            value=previous,
            remedy="give n, c, h and w, or set run_mode=composed in [DNNMark] and name the previous layer",
        )
    if previous not in known:
        raise ConfigError(
            f"layer {label} has no dimensions and its previous layer is not an earlier one: DNNMark aborts",
            file=file,
            key=where,
            value=previous,
            remedy=f"earlier layers: {', '.join(known) or 'none'}; a first layer needs n, c, h, w and "
            "previous_layer=null",
        )
    return known[previous].output


GENERAL: Final = "DNNMark"
SPACE: Final = " \t\n\v\f\r"
"""What C's ``isspace`` trims; nothing else."""


class Entry(NamedTuple):
    """One ``key=value`` line; ``line`` counts from 1."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Section:
    """A section's header and entries in order."""

    name: str
    line: int
    entries: tuple[Entry, ...]


def sections(text: str, file: str | Path | None = None) -> list[Section]:
    """The sections of a file in order; ``[DNNMark]`` first if it is there.

    Raises:
        ConfigError: a line that is neither a known section nor ``key=value`` (DNNMark aborts), a line
            outside every section or a ``[DNNMark]`` behind a layer (DNNMark passes over both in silence).
    """
    found: list[tuple[str, int, list[Entry]]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(SPACE)
        if not line or line[0] == "#":
            continue
        name = line[1:-1] if line[0] == "[" and line[-1] == "]" else None
        if name == GENERAL and found:
            raise ConfigError(
                "a second [DNNMark] section, or one behind a layer: DNNMark ignores it",
                file=file,
                key=f"line {number}",
                value=line,
                remedy="put one [DNNMark] section with run_mode at the top of the file",
            )
        if name == GENERAL or name in LAYER_KEYS:
            found.append((str(name), number, []))
            continue
        key, equals, value = line.partition("=")
        if not equals or name is not None:
            raise ConfigError(
                "neither a section of DNNMark nor key=value",
                file=file,
                key=f"line {number}",
                value=line,
                remedy=f"the sections are {', '.join(f'[{kind}]' for kind in (GENERAL, *LAYER_KEYS))}",
            )
        if not found:
            raise ConfigError(
                "a line before the first section: DNNMark ignores it",
                file=file,
                key=f"line {number}",
                value=line,
                remedy="begin the file with [DNNMark] and run_mode=standalone or composed",
            )
        found[-1][2].append(Entry(key.strip(SPACE), value.strip(SPACE), number))
    return [Section(name, line, tuple(entries)) for name, line, entries in found]
