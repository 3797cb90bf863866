"""A known answer (the result of one point of sweep ``known_answers``) and the table of ten of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from apuflow.configure.release import Release
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text

SWEEP: Final = "known_answers"
"""The sweep of the points that have answers, the smallest first."""

Kind: TypeAlias = Literal["fact", "option", "counter", "rows"]
"""fact: what a run was made from; option: of ``apu_se.py``; counter: as in tables; rows: a hash of rows."""

_KINDS: Final = get_args(Kind)
_HEAD: Final = ("kind", "name")


@dataclass(frozen=True)
class Answer:
    """Result of a point: ``values`` as text, by kind and name."""

    workload: str
    values: Mapping[tuple[Kind, str], str]

    def fact(self, name: str) -> str:
        """A fact by name; empty if there is none."""
        return self.values.get(("fact", name), "")

    def count(self, kind: Kind) -> int:
        """Number of values of a kind."""
        return sum(key[0] == kind for key in self.values)

    @property
    def rows(self) -> int:
        """Rows of statistics behind its hashes."""
        return sum(int(text.partition(":")[0]) for key, text in self.values.items() if key[0] == "rows")


def write(file: Path, answers: Sequence[Answer]) -> None:
    """Write a table: a row for each value, a column for each point."""
    keys = dict.fromkeys(key for answer in answers for key in answer.values)
    ordered = sorted(keys, key=lambda key: _KINDS.index(key[0]))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*_HEAD, *(answer.workload for answer in answers)])
    table.writerows([*key, *(answer.values.get(key, "") for answer in answers)] for key in ordered)
    write_text(file, text.getvalue())


def read(file: Path) -> tuple[Answer, ...]:
    """The answers of a table, in its order.

    Raises:
        ConfigError: the file cannot be read or is not such a table; with the line.
    """
    remedy = "restore the file, or record it again: `apuflow doctor --record ENGINE --release RELEASE`"
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"cannot read known answers: {error}", file=file, remedy=remedy) from None
    head = lines[0] if lines else []
    if tuple(head[:2]) != _HEAD or len(head) < 3:
        told = ",".join(head[:3])
        raise ConfigError("not a table of known answers", file=f"{file}:1", value=told, remedy=remedy)
    values: list[dict[tuple[Kind, str], str]] = [{} for _ in head[2:]]
    for number, line in enumerate(lines[1:], 2):
        kind = next((each for each in _KINDS if line[:1] == [each]), None)
        if kind is None or len(line) != len(head):
            problem = (
                f"not a row of known answers: one of {', '.join(_KINDS)}, a name, {len(head) - 2} values"
            )
            raise ConfigError(problem, file=f"{file}:{number}", value=",".join(line), remedy=remedy)
        for each, text in zip(values, line[2:], strict=True):
            if text:
                each[kind, line[1]] = text
    return tuple(Answer(name, each) for name, each in zip(head[2:], values, strict=True))


def recorded(engine: EngineName, root: Path) -> dict[str, Path]:
    """Tables of an engine by release."""
    return {file.stem: file for file in sorted(root.glob(paths.known_answers(engine, "*")))}


def find(engine: EngineName, release: Release, root: Path) -> tuple[str, tuple[Answer, ...]]:
    """The answers to compare a release with, and the release that gave them.

    Its own, else those of the same commit of gem5, else those of ``options_of`` (for a fork).

    Raises:
        ConfigError: there are none; the message lists the recorded ones.
    """
    tables = recorded(engine, root)
    if release.name in tables:
        return release.name, read(tables[release.name])
    answers = {name: read(file) for name, file in tables.items()}
    for name, each in answers.items():
        if each and each[0].fact("gem5_commit") == release.gem5.commit:
            return name, each
    if release.options_of in answers:
        return release.options_of, answers[release.options_of]
    raise none_recorded(engine, release.name, root)


def none_recorded(engine: EngineName, release: str, root: Path) -> ConfigError:
    """The error for a release without answers: what is recorded, and how to record."""
    tables = {name: recorded(name, root) for name in get_args(EngineName)}
    known = [f"{name} with {', '.join(found)}" for name, found in tables.items() if found]
    return ConfigError(
        f"no recorded answer for engine {engine} with release {release}",
        file=root / paths.known_answers(engine, release),
        key="--release",
        value=release,
        remedy=f"recorded are: {'; '.join(known) or 'none'}. `apuflow doctor --record {engine} --release "
        f"{release}` records this machine's gem5, for later comparisons",
    )
