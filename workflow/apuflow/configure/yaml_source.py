"""Read YAML so that a mistake is named with its file and line.

Refused: files that are too long, too deep or unfold to too many values (``MAX_...``), duplicate keys (YAML
would keep the last one silently), several documents, keys that are no text, anchors that contain themselves,
and plain values that the versions of YAML read differently. PyYAML reads YAML 1.1: ``010`` is 8, ``1:30`` is
90 and ``1e3`` is text; YAML 1.2, and most people, read 10, text and 1000. Sources: PyYAML 6
(``yaml/resolver.py``); YAML 1.2.2, section 10.3.2 (core schema).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from apuflow.core.errors import ConfigError
from apuflow.core.files import Remembered

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

Location: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the top of a document."""
MAX_BYTES = 1 << 20
"""A longer file is no configuration that somebody has written: it is refused before it is read."""
MAX_DEPTH = 64
"""Levels of lists and mappings. libyaml's composer calls itself for each: some 10,000 end the process."""
MAX_WRITTEN = 250_000
"""Commas and lines of a document: each value of a long list has one, and takes 20 microseconds to read."""
MAX_VALUES = 1_000_000
"""Values that a document may unfold to through its aliases."""
_SHORTER = "shorten its lists: a sweep has 100,000 points at most (limits.max_points)"
_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_LATER = re.compile(r"0o[0-7]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
"""Numbers of YAML 1.2."""
_FRACTION = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?")
"""Numbers with a point that both versions read alike."""
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?")
LONGEST = 40
"""Characters of a number that a remedy repeats."""
_Misread: TypeAlias = tuple[str, str]
"""Why a value is refused, and what to write."""
_TOO_LARGE: _Misread = ("the number is larger than any that a computer holds", "write a smaller number")


@dataclass(frozen=True)
class Document:
    """One YAML mapping and where each of its keys stands."""

    path: Path
    data: dict[str, Any]
    lines: Mapping[Location, int]

    def where(self, location: Location) -> str:
        """``file:line`` (from 1) of a key, or of the nearest key around it, for messages."""
        while location and location not in self.lines:
            location = location[:-1]
        line = self.lines.get(location)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def renamed(self, old: str, new: str) -> Document:
        """The same document with another name for a key at its top."""
        data = {new if key == old else key: value for key, value in self.data.items()}
        lines = {(new, *at[1:]) if at[:1] == (old,) else at: line for at, line in self.lines.items()}
        return Document(self.path, data, lines)


def load(path: str | Path) -> Document:
    """Read one YAML mapping; ConfigError for a file that is none, or cannot be read."""
    document = _remembered(Path(path))
    return Document(Path(path), document.data, document.lines)


def _read(path: Path) -> Document:
    try:
        if path.stat().st_size > MAX_BYTES:
            message, size = f"the file is larger than {MAX_BYTES:,} bytes", path.stat().st_size
            raise ConfigError(message, file=path, value=size, remedy=_SHORTER)
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("not a UTF-8 text file", file=path, remedy="save it as UTF-8") from error
    except OSError as error:
        message = f"cannot read the file: {error.strerror}"
        raise ConfigError(message, file=path, remedy="check its name and permissions") from error
    return parse(text, path)


_remembered = Remembered(_read)


def parse(text: str, path: str | Path = "<text>") -> Document:
    """Read YAML text; ``path`` is its name in messages."""
    path = Path(path)
    if (written := text.count(",") + text.count("\n")) > MAX_WRITTEN:
        message = f"the file has more than {MAX_WRITTEN:,} commas and lines"
        raise ConfigError(message, file=path, value=written, remedy=_SHORTER)
    loader = None
    try:
        _check_depth(text, path)
        loader = Loader(text)
        node = loader.get_single_node()
        if node is None or (isinstance(node, yaml.ScalarNode) and node.value == ""):
            raise ConfigError("the file is empty", file=path, remedy="see docs/configuration.md for its keys")
        walk = _Walk(path)
        walk.size(node, ())
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, path) from error
    except yaml.YAMLError as error:
        message = f"not YAML: {_first_line(error)}"
        raise ConfigError(message, file=path, remedy="remove this character") from error
    except (ValueError, OverflowError) as error:
        message = f"a value that YAML cannot hold: {_first_line(error)}"
        raise ConfigError(message, file=path, remedy="put it in quotes, or correct it") from error
    except RecursionError as error:
        remedy = "use fewer levels of keys and lists"
        raise ConfigError("nested too deeply", file=path, remedy=remedy) from error
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(data, dict):
        kinds = {list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
        kind = kinds.get(type(data), f"a {type(data).__name__}")
        message = f"a mapping (key: value) is expected, not {kind}"
        remedy = "see docs/configuration.md for its keys"
        raise ConfigError(message, file=path, value=str(data)[:80], remedy=remedy)
    return Document(path, data, walk.lines)


def _check_depth(text: str, path: Path) -> None:
    """Refuse too many levels by the parser's events, which need no stack."""
    if sum(text.count(mark) for mark in "[{-:?") <= MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(text, Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            remedy = f"use at most {MAX_DEPTH} levels of keys and lists"
            raise ConfigError("nested too deeply", file=_at(path, event), remedy=remedy)


class _Walk:
    """Check the nodes of one document and note the line of each key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Location, int] = {}
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()

    def size(self, node: yaml.Node, location: Location) -> int:
        """Values below ``node``, its aliases unfolded; raises on what is refused."""
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            raise self._refused("an anchor contains itself", node, location, "write the values out")
        self._open.add(id(node))
        total = 1
        if isinstance(node, yaml.MappingNode):
            total += self._mapping(node, location)
        elif isinstance(node, yaml.ScalarNode):
            if (problem := _misread(node)) is not None:
                message, remedy = problem
                raise self._refused(message, node, location, remedy, value=node.value[:80])
        elif isinstance(node, yaml.SequenceNode):
            for index, child in enumerate(node.value):
                self.lines[(*location, index)] = child.start_mark.line + 1
                total += self.size(child, (*location, index))
        self._open.discard(id(node))
        if total > MAX_VALUES:
            message = f"with its aliases (*name) written out, the file has more than {MAX_VALUES} values"
            raise self._refused(message, node, (), "use fewer aliases or shorter lists")
        self._sizes[id(node)] = total
        return total

    def _refused(
        self, message: str, node: yaml.Node, location: Location, remedy: str, **value: object
    ) -> ConfigError:
        file, key = _at(self.path, node), dotted(location) or None
        return ConfigError(message, file=file, key=key, remedy=remedy, **value)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> int:
        total = 0
        seen: dict[str, int] = {}
        for key, value in node.value:
            scalar = isinstance(key, yaml.ScalarNode)
            if not scalar or key.tag not in (f"{_TAG}str", f"{_TAG}merge"):
                remedy = "quote it if it looks like a number, a date or yes/no"
                raise self._refused("a key must be text", key, (str(key.value),) if scalar else (), remedy)
            line = key.start_mark.line + 1
            if key.value in seen and key.tag.endswith(":str"):
                message = f"the key stands twice (first on line {seen[key.value]})"
                raise self._refused(message, key, (*location, key.value), "keep one of them")
            seen[key.value] = line
            self.lines[(*location, key.value)] = line
            total += self.size(value, (*location, key.value))
        return total


def dotted(location: Iterable[str | int]) -> str:
    """``axes.num-tccs[2]`` of a location."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _at(path: Path, node: yaml.Node | yaml.Event) -> str:
    return f"{path}:{node.start_mark.line + 1}" if node.start_mark is not None else str(path)


def _not_yaml(error: yaml.MarkedYAMLError, path: Path) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    problem = " ".join(part for part in (error.context, error.problem) if part)
    file = str(path) if mark is None else f"{path}:{mark.line + 1}"
    remedy = "correct this line or the one above it (indentation, quotes, brackets, tabs)"
    if "expected a single document" in problem:
        remedy = "keep one document: remove the line ---"
    return ConfigError(f"not YAML: {problem}", file=file, remedy=remedy)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _misread(node: yaml.ScalarNode) -> _Misread | None:
    """What is wrong with the spelling of a value; None: every reader of YAML reads it alike."""
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if kind == "int":
        return None if _DECIMAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text) else _number(text)
    if kind == "float":
        return _float(text)
    if node.style:
        return None
    if kind == "str":
        return _number(text) if _LATER.fullmatch(text) else None
    if kind == "timestamp":
        return "a single value is expected, and YAML 1.1 reads a date here", f"put it in quotes: '{text}'"
    if kind in ("value", "merge"):
        return "YAML 1.1 gives this sign a meaning of its own", f"put it in quotes: '{text}'"
    return None


def _float(text: str) -> _Misread | None:
    if not _FRACTION.fullmatch(text):
        if text.lower().lstrip("+-") in (".inf", ".nan"):
            return "a finite number is expected", "leave the key out, or write a number"
        return _number(text)
    return None if math.isfinite(float(text)) else _TOO_LARGE


def _number(text: str) -> _Misread:
    """A number that the versions of YAML read differently, or that has another base than 10."""
    if ":" in text:
        parts = ", ".join(part.lstrip("+-") for part in text.split(":"))
        value = _sixties(text)
        message = f"YAML 1.1 reads this as the number {value} (base 60), YAML 1.2 as text"
        return message, f"write {value}; [{parts}] for a list; '{text}' for the text"
    if _GROUPED.fullmatch(text) and "." not in text:
        sign, digits = "-" if text.startswith("-") else "", text.replace("_", "").lstrip("+-0")
        why = "a zero in front means base 8 in YAML 1.1 and nothing in YAML 1.2"
        if "_" in text:
            why = "YAML 1.1 reads this as a number, YAML 1.2 as text"
        return _refused(why, text, f"{sign}{digits}" if digits else "0")
    plain = text.replace("_", "")
    digits = plain.lstrip("+-")
    base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2])
    if base is not None:
        whole = int(digits[2:] or "0", base)
        return _refused("a number is written in decimal", text, str(-whole if plain[0] == "-" else whole))
    number = float(plain)
    if not math.isfinite(number):
        return _TOO_LARGE
    why = "YAML 1.1 reads this as text, YAML 1.2 as a number"
    if "_" in text:
        why = "YAML 1.1 reads this as a number, YAML 1.2 as text"
    return _refused(why, text, _decimal(number))


def _refused(why: str, text: str, meant: str) -> _Misread:
    if len(meant) > LONGEST:
        return why, "write a decimal number, or put it in quotes for the text"
    return why, f"write {meant}, or '{text}' for the text"


def _decimal(value: float) -> str:
    """A number as both versions of YAML read it: with a point and a sign wherever it has an exponent."""
    if value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{exponent}" if mark else mantissa


def _sixties(text: str) -> str:
    """The value of digits with base 60 (YAML 1.1, types int and float)."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text.lstrip("+"))
    total = 0.0
    for part in digits.replace("_", "").split(":"):
        total = total * 60 + float(part)
    return f"{sign}{_decimal(total)}"
