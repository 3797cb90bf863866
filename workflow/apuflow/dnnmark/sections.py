"""Cut ``.dnnmark`` text into its sections, as DNNMark's two parsing passes see them.

Source: DNNMark ``core/src/dnnmark.cc`` (``ParseGeneralConfig``, ``ParseLayerConfig``) and ``utility.cc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.core.errors import ConfigError
from apuflow.dnnmark.keys import LAYER_KEYS

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
