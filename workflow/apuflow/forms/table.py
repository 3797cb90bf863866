"""What a release's gem5 does with each instruction: ``configs/conformance/<release>-<build>.csv``.

The first right row of an instruction has the words of all its right forms. There is a row for each smallest
set of words with which it is not right: a form is wrong where the words of a wrong row are among its own. A
right form of which that is not true has a right row of its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from apuflow.core import project
from apuflow.core.errors import ConfigError
from apuflow.core.files import Remembered
from apuflow.forms.features import AT_RUN_TIME

Verdict: TypeAlias = Literal["right", "unknown", "wrong", "stops"]
WEIGHT: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""Verdicts; of several cases of a form the last one counts."""
_NONE: Final = "-"
"""The words of a form that has none."""


def table_file(release: str, build: str) -> Path:
    """Where the table of a release and build stands."""
    return Path(f"configs/conformance/{release}-{build}.csv")


def measured(root: Path) -> Mapping[tuple[str, str], Path]:
    """Tables by release and build: those that come with apuflow, and a project's in place of them."""
    folders = project.place("configs"), root / "configs"
    files = [file for folder in folders for file in sorted((folder / "conformance").glob("*-*.csv"))]
    return {(release, build): file for file in files for release, _, build in [file.stem.rpartition("-")]}


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        features: words of the form; of right forms all words that occur in one.
        text: the instruction, in LLVM's assembly.
        inputs, got, expected: of the smallest wrong lane.
        message: with which gem5 ended, or why nothing is expected.
        lanes: wrong results of how many.
        source: gem5's function and its file, below ``src/arch/amdgpu``.
    """

    encoding: str
    instruction: str
    verdict: Verdict
    features: frozenset[str]
    text: str = ""
    place: str = ""
    inputs: str = ""
    got: str = ""
    expected: str = ""
    lanes: str = ""
    message: str = ""
    source: str = ""

    @property
    def form(self) -> str:
        """The form in words."""
        return " ".join((self.encoding, self.instruction, *sorted(self.features)))

    @property
    def certain(self) -> bool:
        """Whether every run of such an instruction meets it, whatever its operands are."""
        return self.verdict == "right" or not self.features & AT_RUN_TIME


@dataclass(frozen=True)
class Table:
    """The table of a release and build.

    Attributes:
        about: what gem5 it was.
        counts: of forms, by encoding and verdict.
    """

    rows: tuple[Row, ...]
    about: str = ""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def _by_instruction(self) -> Mapping[tuple[str, str], list[Row]]:
        found = defaultdict[tuple[str, str], list[Row]](list)
        for row in self.rows:
            found[row.encoding, row.instruction].append(row)
        return found

    def of(self, encoding: str, instruction: str, features: Collection[str]) -> Row | None:
        """What holds for an instruction with these words; None: its form was not tried.

        A row that needs words of :data:`~apuflow.forms.features.AT_RUN_TIME` holds for some operands
        only (``Row.certain`` is false): it is given where nothing certain is known to be wrong.
        """
        rows = self._by_instruction.get((encoding, instruction), [])
        words = frozenset(features)
        right = [row for row in rows if row.verdict == "right"]
        if exact := [row for row in right[1:] if row.features == words]:
            return exact[0]
        bad = [row for row in rows if row.verdict != "right" and row.features - AT_RUN_TIME <= words]
        known = right[0] if right and words <= right[0].features else None
        return max(bad, key=lambda row: (row.certain, WEIGHT.index(row.verdict)), default=known)

    def instructions(self, verdict: str) -> frozenset[str]:
        """Names of the instructions whose every form has a verdict."""
        found = {
            name: all(row.verdict == verdict and not row.features for row in rows)
            for (_, name), rows in self._by_instruction.items()
        }
        return frozenset(name for name, every in found.items() if every)


_COUNTS: Final = re.compile(r"# (\w+): ((?:\w+ \d+(?:, )?)+)")
_COLUMNS: Final = tuple(field.name for field in fields(Row))


def text(table: Table) -> str:
    """A table as its file has it."""
    out = io.StringIO()
    if table.about:
        out.write(f"# {table.about}\n")
    for encoding, numbers in table.counts.items():
        out.write(
            f"# {encoding}: {', '.join(f'{verdict} {number}' for verdict, number in numbers.items())}\n"
        )
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in table.rows:
        values = {name: getattr(row, name) for name in _COLUMNS}
        values["features"] = " ".join(sorted(row.features)) or _NONE
        writer.writerow(values.values())
    return out.getvalue()


def lines_of(
    path: Path, columns: tuple[str, ...], what: str, remedy: str
) -> tuple[list[str], Iterable[dict[str, Any]]]:
    """Comments and rows of a table, which errors call ``what``.

    Raises:
        ConfigError: it cannot be read, or has other columns.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the {what}: {error}", file=path, remedy=remedy) from None
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    if tuple(reader.fieldnames or ()) != columns:
        said = f"a {what} has the columns {', '.join(columns)}"
        raise ConfigError(said, file=path, value=", ".join(reader.fieldnames or ()), remedy=remedy)
    return [line for line in lines if line.startswith("#")], reader


def _read(path: Path) -> Table:
    """Read a table. Raises ConfigError if it cannot be read, or is no such table."""
    remedy = "`apuflow conformance` writes it: do not edit it"
    comments, reader = lines_of(path, _COLUMNS, "table of instructions", remedy)
    counts, about = dict[str, dict[str, int]](), ""
    for line in comments:
        if match := _COUNTS.fullmatch(line.rstrip()):
            numbers = (each.split() for each in match[2].split(", "))
            counts[match[1]] = {verdict: int(number) for verdict, number in numbers}
        elif line.startswith("# "):
            about = line[2:].strip()
    rows = []
    for number, values in enumerate(reader, 1):
        if values["verdict"] not in WEIGHT or None in values.values() or None in values:
            said = "not a row of a table of instructions"
            raise ConfigError(said, file=path, key=f"row {number}", value=values["verdict"], remedy=remedy)
        words = frozenset(values.pop("features").split()) - {_NONE}
        rows.append(Row(**values, features=words))
    return Table(tuple(rows), about, counts)


read: Final = Remembered(_read)
