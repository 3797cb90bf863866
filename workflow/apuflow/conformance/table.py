"""What a release's gem5 does with each instruction: ``configs/conformance/<release>-<build>.csv``.

One row for each instruction that is right, with all words of its right forms, and one for each smallest set
of words with which it is not. A form is wrong where the words of a wrong row are among its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.conformance.case import Form
from apuflow.conformance.features import AT_RUN_TIME
from apuflow.conformance.run import WEIGHT, Judged
from apuflow.core.errors import ConfigError

_ORDER: Final[tuple[str, ...]] = WEIGHT
_NONE: Final = "-"
"""The words of a form that has none."""


def table_file(release: str, build: str) -> Path:
    """Where the table of a release and build stands."""
    return Path(f"configs/conformance/{release}-{build}.csv")


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
    verdict: str
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

        A row that needs words of :data:`~apuflow.conformance.features.AT_RUN_TIME` holds for some operands
        only (``Row.certain`` is false): it is given where nothing certain is known to be wrong.
        """
        rows = self._by_instruction.get((encoding, instruction), [])
        words = frozenset(features)
        bad = [row for row in rows if row.verdict != "right" and row.features - AT_RUN_TIME <= words]
        if bad:
            return max(bad, key=lambda row: (row.certain, _ORDER.index(row.verdict)))
        return next((row for row in rows if row.verdict == "right" and words <= row.features), None)

    def instructions(self, verdict: str) -> frozenset[str]:
        """Names of the instructions whose every form has a verdict."""
        found = {
            name: all(row.verdict == verdict and not row.features for row in rows)
            for (_, name), rows in self._by_instruction.items()
        }
        return frozenset(name for name, every in found.items() if every)


def _weight(each: Judged) -> tuple[int, bool]:
    return WEIGHT.index(each.verdict), each.failure is not None and not each.failure.special


def worst(found: Iterable[Judged]) -> list[Judged]:
    """Of each form the case that decides its verdict."""
    by_form: dict[Form, Judged] = {}
    for each in found:
        before = by_form.setdefault(each.form, each)
        if _weight(each) > _weight(before):
            by_form[each.form] = each
    return list(by_form.values())


def of_judged(found: Iterable[Judged], source: Callable[[Form], str], about: str = "") -> Table:
    """The table of what came out of a suite; ``source``: gem5's function of a form."""
    by_instruction = defaultdict[tuple[str, str], list[Judged]](list)
    deciding = worst(found)
    for each in deciding:
        by_instruction[each.form[:2]].append(each)
    rows = [row for _, some in sorted(by_instruction.items()) for row in _rows(some, source)]
    return Table(tuple(rows), about, counted(deciding))


def counted(deciding: Iterable[Judged]) -> Mapping[str, Mapping[str, int]]:
    """Numbers of forms by encoding and verdict."""
    found = Counter((each.form.encoding, each.verdict) for each in deciding)
    encodings = dict.fromkeys(encoding for encoding, _ in found)
    return {each: {verdict: found[each, verdict] for verdict in WEIGHT} for each in encodings}


def _rows(some: Sequence[Judged], source: Callable[[Form], str]) -> Iterator[Row]:
    """The rows of an instruction."""
    encoding, instruction = some[0].form[:2]
    right = [each for each in some if each.verdict == "right"]
    if right:
        words = frozenset(word for each in right for word in each.form.features)
        yield Row(encoding, instruction, "right", words)
    for verdict in WEIGHT[1:]:
        bad = sorted(
            (each for each in some if each.verdict == verdict),
            key=lambda each: (len(_words(each)), bool(each.taken_from)),
        )
        least: list[Judged] = []
        for each in bad:
            if not any(_words(other) <= _words(each) for other in least):
                least.append(each)
        for each in least:
            yield _row(each, source)


def _row(each: Judged, source: Callable[[Form], str]) -> Row:
    wrong = each.failure
    return Row(
        each.form.encoding,
        each.form.instruction,
        each.verdict,
        _words(each),
        each.text,
        wrong.place if wrong else "",
        _short(wrong.inputs if wrong else "", 100),
        _short(wrong.got if wrong else "", 60),
        _short(wrong.expected if wrong else "", 60),
        wrong.lanes if wrong else "",
        _short(_CHATTER.sub("", each.message), 120),
        source(each.form) if each.verdict != "unknown" else "",
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _words(each: Judged) -> frozenset[str]:
    """The words of a form, and ``special`` where nothing else is wrong."""
    words = frozenset(each.form.features)
    return words | {"special"} if each.failure is not None and each.failure.special else words


_CHATTER: Final = re.compile(r"^gem5\.\w+: |\[with .*\]|panic condition .* occurred: | \(at tick \d+\)")
"""What makes gem5's messages long."""
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


def read(path: Path) -> Table:
    """Read a table.

    Raises:
        ConfigError: it cannot be read, or is no such table.
    """
    remedy = "`apuflow conformance` writes it: do not edit it"
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read the table of instructions: {error}", file=path, remedy=remedy
        ) from None
    counts, about = dict[str, dict[str, int]](), ""
    for line in lines:
        if match := _COUNTS.fullmatch(line.rstrip()):
            numbers = (each.split() for each in match[2].split(", "))
            counts[match[1]] = {verdict: int(number) for verdict, number in numbers}
        elif line.startswith("# "):
            about = line[2:].strip()
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    if tuple(reader.fieldnames or ()) != _COLUMNS:
        said = f"a table of instructions has the columns {', '.join(_COLUMNS)}"
        raise ConfigError(said, file=path, value=", ".join(reader.fieldnames or ()), remedy=remedy)
    rows = []
    for number, values in enumerate(reader, 1):
        if values["verdict"] not in WEIGHT or None in values.values() or None in values:
            said = "not a row of a table of instructions"
            raise ConfigError(said, file=path, key=f"row {number}", value=values["verdict"], remedy=remedy)
        words = frozenset(values.pop("features").split()) - {_NONE}
        rows.append(Row(**values, features=words))
    return Table(tuple(rows), about, counts)
