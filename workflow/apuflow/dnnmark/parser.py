"""Read ``.dnnmark`` text: cut it into sections, and work them out into a network with its shapes.

Sections are what DNNMark's two parsing passes see. Source: DNNMark ``core/src/dnnmark.cc``
(``ParseGeneralConfig``, ``ParseLayerConfig``), ``utility.cc``; ``core/include/dnn_layer.h`` (``Setup``) and
``layers/*_layer.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark.layers import KINDS, LAYER_KEYS
from apuflow.dnnmark.network import FIRST, RUN_MODES, Layer, Network, Problem, RunMode
from apuflow.dnnmark.shape import NoOutput, Shape

GENERAL: Final = "DNNMark"
SPACE: Final = " \t\n\v\f\r"
"""What C's ``isspace`` trims; nothing else."""


class Entry(NamedTuple):
    """One ``key=value`` line; ``line`` counts from 1."""

    key: str
    value: str
    line: int


class Section(NamedTuple):
    """A section's header and entries in order."""

    name: str
    line: int
    entries: tuple[Entry, ...]


class _Line(NamedTuple):
    """What a line says.

    Attributes:
        text: without spaces around it.
        name: of the section that it begins, else "".
        key, value: before and behind "="; no value where there is none, or where a section begins.
    """

    text: str
    name: str
    key: str
    value: str | None


@functools.lru_cache(maxsize=16384)
def _line(raw: str) -> _Line | None:
    """A line of a file; None: it says nothing. Different layers have most of their lines in common."""
    text = raw.strip(SPACE)
    if not text or text[0] == "#":
        return None
    if text[0] == "[" and text[-1] == "]":
        return _Line(text, text[1:-1], "", None)
    key, equals, value = text.partition("=")
    return _Line(text, "", key.strip(SPACE), value.strip(SPACE) if equals else None)


@functools.lru_cache(maxsize=1024)
def sections(text: str, file: str | Path | None = None) -> tuple[Section, ...]:
    """The sections of a file in order; ``[DNNMark]`` first if it is there.

    Raises:
        ConfigError: a line that is neither a known section nor ``key=value`` (DNNMark aborts), a line
            outside every section or a ``[DNNMark]`` behind a layer (DNNMark passes over both in silence).
    """
    sections: list[tuple[str, int, list[Entry]]] = []
    for number, line in enumerate(map(_line, text.split("\n")), start=1):
        if line is None:
            continue
        if line.value is not None and sections:
            sections[-1][2].append(Entry(line.key, line.value, number))
        elif line.name in KINDS or (line.name == GENERAL and not sections):
            sections.append((line.name, number, []))
        else:
            raise _misplaced(line, number, file)
    return tuple([Section(name, line, tuple(entries)) for name, line, entries in sections])


def _misplaced(line: _Line, number: int, file: str | Path | None) -> ConfigError:
    """What is wrong with a line that no section can take."""
    if line.name == GENERAL:
        message = "a second [DNNMark] section, or one behind a layer: DNNMark ignores it"
        remedy = "put one [DNNMark] section with run_mode at the top of the file"
    elif line.value is None:
        message = "neither a section of DNNMark nor key=value"
        remedy = f"the sections are {', '.join(f'[{kind}]' for kind in (GENERAL, *KINDS))}"
    else:
        message = "a line before the first section: DNNMark ignores it"
        remedy = "begin the file with [DNNMark] and run_mode=standalone or composed"
    return ConfigError(message, file=file, key=f"line {number}", value=line.text, remedy=remedy)


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
            "no layer", file=file, remedy=f"add a section: {', '.join(f'[{kind}]' for kind in KINDS)}"
        )
    builder = _Builder(run_mode, file)
    return Network(run_mode, tuple(builder.layer(part) for part in bodies))


def _run_mode(parts: tuple[Section, ...], file: str | Path | None) -> RunMode:
    run_mode: RunMode = "none"
    for part in parts:
        if part.name != GENERAL:
            continue
        for entry in part.entries:
            known = next((mode for mode in RUN_MODES if mode == entry.value), None)
            if entry.key != "run_mode" or known is None:
                raise ConfigError(
                    "unknown run mode" if entry.key == "run_mode" else "unknown key of [DNNMark]",
                    file=file,
                    key=f"{entry.key} (line {entry.line})",
                    value=entry.value,
                    remedy=f"the only key is run_mode, with {', '.join(RUN_MODES)}",
                )
            run_mode = known
    return run_mode


@functools.lru_cache(maxsize=16384)
def _value(kind: str, key: str, text: str) -> Scalar:
    """The value of a layer's key; errors are those of ``Key.read``."""
    return LAYER_KEYS[kind][key].read(text)


class _Values(NamedTuple):
    """What a section states.

    Attributes:
        name, previous: the layer's, "" where absent.
        dimensions: those of its input that are given.
        attributes: of the layer's class.
        repeated: names of keys given twice.
    """

    name: str
    previous: str
    dimensions: Mapping[str, int]
    attributes: Mapping[str, Any]
    repeated: tuple[str, ...]


class _Builder:
    """Makes the layers of a network one after the other, since a layer's input may be an earlier output."""

    def __init__(self, run_mode: RunMode, file: str | Path | None) -> None:
        self.run_mode = run_mode
        self.file = file
        self.known: dict[str, Layer] = {}

    def layer(self, part: Section) -> Layer:
        values = self._values(part)
        name = values.name
        bottom = self._input(part, values)
        params = KINDS[part.name](**values.attributes)
        try:
            top = params.output(bottom)
        except NoOutput as error:
            raise ConfigError(
                f"layer {name or part.name} has no output: {error}",
                file=self.file,
                key=f"[{part.name}] (line {part.line})",
                value=str(bottom),
                remedy="make the input larger, the window smaller or the padding larger",
            ) from None
        layer = Layer(name, values.previous, bottom, top, params, self._remarks(values))
        if name:
            if name in self.known and self.run_mode == "composed":
                raise ConfigError(
                    "two layers of one name: previous_layer could mean either",
                    file=self.file,
                    key=f"name (section at line {part.line})",
                    value=name,
                    remedy="give each layer of a composed network a name of its own",
                )
            self.known[name] = layer
        return layer

    def _values(self, part: Section) -> _Values:
        keys = LAYER_KEYS[part.name]
        seen: set[str] = set()
        repeated: list[str] = []
        data: dict[str, Scalar] = {}
        attributes: dict[str, Any] = {}
        for entry in part.entries:
            key = keys.get(entry.key)
            if key is None:
                raise self._refused(entry, f"unknown key of [{part.name}]", f"its keys are {', '.join(keys)}")
            try:
                value = _value(part.name, entry.key, entry.value)
            except ValueError as error:
                message = f"value of {key.name} in [{part.name}] is not what DNNMark takes"
                raise self._refused(entry, message, str(error)) from None
            if key.attribute:
                key.put(value, attributes)
            else:
                data[key.name] = value
            if key.name in seen:
                repeated.append(key.name)
            seen.add(key.name)
        return _Values(
            str(data.get("name", "")),
            str(data.get("previous_layer", "")),
            {axis: int(data[axis]) for axis in Shape._fields if axis in data},
            attributes,
            tuple(repeated),
        )

    def _refused(self, entry: Entry, message: str, remedy: str) -> ConfigError:
        where = f"{entry.key} (line {entry.line})"
        return ConfigError(message, file=self.file, key=where, value=entry.value, remedy=remedy)

    def _input(self, part: Section, values: _Values) -> Shape:
        """Where the layer's input comes from (``Layer::Setup``)."""
        where = f"[{part.name}] (line {part.line})"
        label = values.name or part.name
        previous, given = values.previous, values.dimensions
        if len(given) == len(Shape._fields):
            if self.run_mode == "composed" and previous != FIRST:
                raise ConfigError(
                    f"layer {label} of a composed network has dimensions and a previous layer: "
                    "DNNMark aborts",
                    file=self.file,
                    key=where,
                    value=previous,
                    remedy="previous_layer=null for the first layer; no n, c, h, w in later ones",
                )
            return Shape(**given)
        if self.run_mode != "composed":
            missing = [axis for axis in Shape._fields if axis not in given]
            raise ConfigError(
                f"layer {label} lacks {', '.join(missing)}: every layer of a {self.run_mode} network has "
                "dimensions",
                file=self.file,
                key=where,
                value=previous,
                remedy="give n, c, h and w, or set run_mode=composed in [DNNMark] and name the previous "
                "layer",
            )
        if previous not in self.known:
            raise ConfigError(
                f"layer {label} has no dimensions and its previous layer is not an earlier one: "
                "DNNMark aborts",
                file=self.file,
                key=where,
                value=previous,
                remedy=f"earlier layers: {', '.join(self.known) or 'none'}; a first layer needs n, c, h, w "
                "and previous_layer=null",
            )
        return self.known[previous].output

    def _remarks(self, values: _Values) -> tuple[Problem, ...]:
        """What DNNMark passes over in silence."""
        remarks = [
            Problem(
                "warning",
                values.name,
                f"{key} is given twice; DNNMark takes the last",
                "remove one of the two",
            )
            for key in values.repeated
        ]
        if self.run_mode == "composed" and values.previous != FIRST and values.dimensions:
            remarks.append(
                Problem(
                    "warning",
                    values.name,
                    f"{', '.join(values.dimensions)}: ignored, the previous layer's output decides",
                    "remove the dimensions of all layers but the first",
                )
            )
        return tuple(remarks)
