"""Read ``.dnnmark`` text: cut it into sections, and work them out into a network with its shapes.

Sections are what DNNMark's two parsing passes see. Source: DNNMark ``core/src/dnnmark.cc``
(``ParseGeneralConfig``, ``ParseLayerConfig``), ``utility.cc``; ``core/include/dnn_layer.h`` (``Setup``) and
``layers/*_layer.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
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
    entries: Sequence[Entry]


@functools.lru_cache(maxsize=1024)
def sections(text: str, file: str | Path | None = None) -> tuple[Section, ...]:
    """The sections of a file in order; ``[DNNMark]`` first if it is there.

    Raises ConfigError: a line that is neither a known section nor ``key=value`` (DNNMark aborts), a line
    outside every section or a ``[DNNMark]`` behind a layer (DNNMark passes over both in silence).
    """
    found: list[Section] = []
    entries: list[Entry] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(SPACE)
        if not line or line[0] == "#":
            continue
        name = line[1:-1] if line[0] == "[" and line[-1] == "]" else ""
        key, equals, value = line.partition("=")
        if name in KINDS or (name == GENERAL and not found):
            entries = []
            found.append(Section(name, number, entries))
        elif equals and not name and found:
            entries.append(Entry(key.strip(SPACE), value.strip(SPACE), number))
        else:
            raise _misplaced(line, name, bool(equals), number, file)
    return tuple(found)


def _misplaced(line: str, name: str, has_value: bool, number: int, file: str | Path | None) -> ConfigError:
    """What is wrong with a line that no section can take."""
    if name == GENERAL:
        message = "a second [DNNMark] section, or one behind a layer: DNNMark ignores it"
        remedy = "put one [DNNMark] section with run_mode at the top of the file"
    elif name or not has_value:
        message = "neither a section of DNNMark nor key=value"
        remedy = f"the sections are {', '.join(f'[{kind}]' for kind in (GENERAL, *KINDS))}"
    else:
        message = "a line before the first section: DNNMark ignores it"
        remedy = "begin the file with [DNNMark] and run_mode=standalone or composed"
    return ConfigError(message, file=file, key=f"line {number}", value=line, remedy=remedy)


@functools.lru_cache(maxsize=16384)
def parse(text: str, file: str | Path | None = None) -> Network:
    """The network that DNNMark builds from ``text``; ``file``: its name, for error messages.

    Raises ConfigError: what DNNMark would abort on, or read as something else than was written; with file,
    key and line, value and remedy.
    """
    parts = sections(text, file)
    run_mode = _run_mode(parts, file)
    bodies = [part for part in parts if part.name != GENERAL]
    if not bodies:
        remedy = f"add a section: {', '.join(f'[{kind}]' for kind in KINDS)}"
        raise ConfigError("no layer", file=file, remedy=remedy)
    builder = _Builder(run_mode, file)
    return Network(run_mode, tuple(builder.layer(part) for part in bodies))


def _run_mode(parts: tuple[Section, ...], file: str | Path | None) -> RunMode:
    run_mode: RunMode = "none"
    for entry in (entry for part in parts if part.name == GENERAL for entry in part.entries):
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


class _Builder:
    """Makes the layers of a network one after the other, since a layer's input may be an earlier output."""

    def __init__(self, run_mode: RunMode, file: str | Path | None) -> None:
        self.run_mode = run_mode
        self.file = file
        self.known: dict[str, Layer] = {}

    def layer(self, part: Section) -> Layer:
        where = f"[{part.name}] (line {part.line})"
        data, attributes = self._values(part)
        name, previous = str(data.get("name", "")), str(data.get("previous_layer", ""))
        given = {axis: int(data[axis]) for axis in Shape._fields if axis in data}
        bottom = self._input(name or part.name, previous, given, where)
        params = KINDS[part.name](**attributes)
        try:
            top = params.output(bottom)
        except NoOutput as error:
            remedy = "make the input larger, the window smaller or the padding larger"
            message = f"layer {name or part.name} has no output: {error}"
            raise self._error(message, where, str(bottom), remedy) from None
        if name in self.known and self.run_mode == "composed":
            message = "two layers of one name: previous_layer could mean either"
            remedy = "give each layer of a composed network a name of its own"
            raise self._error(message, f"name (section at line {part.line})", name, remedy)
        remarks = tuple(self._remarks(part, name, previous, given))
        layer = Layer(name, previous, bottom, top, params, remarks)
        if name:
            self.known[name] = layer
        return layer

    def _values(self, part: Section) -> tuple[dict[str, Scalar], dict[str, Any]]:
        """What a section states: keys of every section, and attributes of the layer's class."""
        keys = LAYER_KEYS[part.name]
        data: dict[str, Scalar] = {}
        attributes: dict[str, Any] = {}
        for entry in part.entries:
            where = f"{entry.key} (line {entry.line})"
            key = keys.get(entry.key)
            if key is None:
                remedy = f"its keys are {', '.join(keys)}"
                raise self._error(f"unknown key of [{part.name}]", where, entry.value, remedy)
            try:
                value = key.read(entry.value)
            except ValueError as error:
                message = f"value of {key.name} in [{part.name}] is not what DNNMark takes"
                raise self._error(message, where, entry.value, str(error)) from None
            if key.attribute:
                key.put(value, attributes)
            else:
                data[key.name] = value
        return data, attributes

    def _error(self, message: str, key: str, value: Scalar, remedy: str) -> ConfigError:
        return ConfigError(message, file=self.file, key=key, value=value, remedy=remedy)

    def _input(self, label: str, previous: str, given: Mapping[str, int], where: str) -> Shape:
        """Where a layer's input comes from (``Layer::Setup``)."""
        composed = self.run_mode == "composed"
        missing = [axis for axis in Shape._fields if axis not in given]
        if not missing and (previous == FIRST or not composed):
            return Shape(**given)
        if not missing:
            what = "of a composed network has dimensions and a previous layer: DNNMark aborts"
            remedy = "previous_layer=null for the first layer; no n, c, h, w in later ones"
        elif not composed:
            what = f"lacks {', '.join(missing)}: every layer of a {self.run_mode} network has dimensions"
            remedy = "give n, c, h and w, or set run_mode=composed in [DNNMark] and name the previous layer"
        elif previous in self.known:
            return self.known[previous].output
        else:
            what = "has no dimensions and its previous layer is not an earlier one: DNNMark aborts"
            known = ", ".join(self.known) or "none"
            remedy = f"earlier layers: {known}; a first layer needs n, c, h, w and previous_layer=null"
        raise self._error(f"layer {label} {what}", where, previous, remedy)

    def _remarks(
        self, part: Section, name: str, previous: str, given: Mapping[str, int]
    ) -> Iterator[Problem]:
        """What DNNMark passes over in silence."""
        seen: set[str] = set()
        for entry in part.entries:
            if entry.key in seen:
                message = f"{entry.key} is given twice; DNNMark takes the last"
                yield Problem("warning", name, message, "remove one of the two")
            seen.add(entry.key)
        if self.run_mode == "composed" and previous != FIRST and given:
            message = f"{', '.join(given)}: ignored, the previous layer's output decides"
            yield Problem("warning", name, message, "remove the dimensions of all layers but the first")
