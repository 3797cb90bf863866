"""Read YAML so that a mistake is named with its file and line.

Refused: files of more than a megabyte or a quarter of a million values, more than 64 levels, duplicate keys
    (YAML would keep the last one silently), several documents, keys that are no text, anchors that contain
    themselves, files that unfold to more than a million values, and values that the versions of YAML read
    differently (``yaml_scalars``).
Anchors, aliases and merge keys work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from apuflow.configure.yaml_scalars import misread
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


@dataclass(frozen=True)
class Document:
    """One YAML mapping and where each of its keys stands."""

    path: Path
    data: dict[str, Any]
    lines: Mapping[Location, int]

    def line(self, location: Location) -> int | None:
        """Line (from 1) of a key, or of the nearest key around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)

    def where(self, location: Location) -> str:
        """``file:line`` of a key, for messages."""
        line = self.line(location)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def renamed(self, old: str, new: str) -> Document:
        """The same document with another name for a key at its top."""
        data = {new if key == old else key: value for key, value in self.data.items()}
        lines = {(new, *at[1:]) if at[:1] == (old,) else at: line for at, line in self.lines.items()}
        return Document(self.path, data, lines)


def load(path: str | Path) -> Document:
    """Read one YAML mapping.

    Raises:
        ConfigError: the file is missing, unreadable, empty, not YAML, or not a mapping at the top.
    """
    document = _remembered(Path(path))
    return Document(Path(path), document.data, document.lines)


def _read(path: Path) -> Document:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(
                f"the file is larger than {MAX_BYTES:,} bytes",
                file=path,
                value=path.stat().st_size,
                remedy=_SHORTER,
            )
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("not a UTF-8 text file", file=path, remedy="save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(
            f"cannot read the file: {error.strerror}", file=path, remedy="check its name and permissions"
        ) from error
    return parse(text, path)


_remembered = Remembered(_read)


def parse(text: str, path: str | Path = "<text>") -> Document:
    """Read YAML text; ``path`` is its name in messages."""
    path = Path(path)
    loader = None
    try:
        _check_length(text, path)
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
        raise ConfigError(
            f"not YAML: {_first_line(error)}", file=path, remedy="remove this character"
        ) from error
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"a value that YAML cannot hold: {_first_line(error)}",
            file=path,
            remedy="put it in quotes, or correct it",
        ) from error
    except RecursionError as error:
        raise ConfigError(
            "nested too deeply", file=path, remedy="use fewer levels of keys and lists"
        ) from error
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(data, dict):
        raise ConfigError(
            f"a mapping (key: value) is expected, not {_kind(data)}",
            file=path,
            value=str(data)[:80],
            remedy="see docs/configuration.md for its keys",
        )
    return Document(path, data, walk.lines)


def _check_length(text: str, path: Path) -> None:
    """Refuse lists that are too long before they are read."""
    if (written := text.count(",") + text.count("\n")) > MAX_WRITTEN:
        raise ConfigError(
            f"the file has more than {MAX_WRITTEN:,} commas and lines",
            file=path,
            value=written,
            remedy=_SHORTER,
        )


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
            raise ConfigError(
                "nested too deeply",
                file=_at(path, event),
                remedy=f"use at most {MAX_DEPTH} levels of keys and lists",
            )


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
            raise ConfigError(
                "an anchor contains itself",
                file=_at(self.path, node),
                key=dotted(location),
                remedy="write the values out",
            )
        self._open.add(id(node))
        total = 1
        if isinstance(node, yaml.MappingNode):
            total += self._mapping(node, location)
        elif isinstance(node, yaml.ScalarNode):
            self._scalar(node, location)
        elif isinstance(node, yaml.SequenceNode):
            for index, child in enumerate(node.value):
                self.lines[(*location, index)] = child.start_mark.line + 1
                total += self.size(child, (*location, index))
        self._open.discard(id(node))
        if total > MAX_VALUES:
            raise ConfigError(
                f"with its aliases (*name) written out, the file has more than {MAX_VALUES} values",
                file=_at(self.path, node),
                remedy="use fewer aliases or shorter lists",
            )
        self._sizes[id(node)] = total
        return total

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> None:
        if (problem := misread(node)) is not None:
            raise ConfigError(
                problem.message,
                file=_at(self.path, node),
                key=dotted(location) or None,
                value=node.value[:80],
                remedy=problem.remedy,
            )

    def _mapping(self, node: yaml.MappingNode, location: Location) -> int:
        total = 0
        seen: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (
                "tag:yaml.org,2002:str",
                "tag:yaml.org,2002:merge",
            ):
                raise ConfigError(
                    "a key must be text",
                    file=_at(self.path, key),
                    key=str(key.value) if isinstance(key, yaml.ScalarNode) else None,
                    remedy="quote it if it looks like a number, a date or yes/no",
                )
            line = key.start_mark.line + 1
            if key.value in seen and key.tag.endswith(":str"):
                raise ConfigError(
                    f"the key stands twice (first on line {seen[key.value]})",
                    file=_at(self.path, key),
                    key=dotted((*location, key.value)),
                    remedy="keep one of them",
                )
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


def _kind(data: object) -> str:
    return {list: "a list", str: "text", bool: "true or false", type(None): "nothing"}.get(
        type(data), f"a {type(data).__name__}"
    )
