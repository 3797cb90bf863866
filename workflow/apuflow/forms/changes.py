"""What a release's gem5 does with forms that apuflow changes: ``configs/conformance/*-changes.csv``.

One row for each row of the table of forms that is not right and that a change touches, by change and GPU; and
one for each right instruction that a change touches as well.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.forms.table import WEIGHT, Row, Verdict, lines_of

_NONE: Final = "-"
_NUMBERS: Final = ("forms", "changed", "right")
_SETS: Final = ("features", "gpus", "changes")


def changes_file(release: str, build: str) -> Path:
    """Where the table of a release and build stands."""
    return Path(f"configs/conformance/{release}-{build}-changes.csv")


@dataclass(frozen=True)
class Change:
    """What a change makes of the forms of a row.

    Attributes:
        encoding, instruction, features, verdict: the row's of the table of forms; of right ones none.
        gpus: whose code is changed.
        way: ``text``: a compiler's assembly, ``object``: a finished object.
        changes: names of the defects for whose sake.
        forms: how many forms of the row are not right on gem5 as they are (of right ones: are right).
        changed, right: how many of them are changed, and are right after that.
        text: what takes the place of one, the first that is not right if there is one.
        problem: what gem5 then does.
    """

    encoding: str
    instruction: str
    features: frozenset[str]
    verdict: Verdict
    gpus: tuple[str, ...]
    way: str
    changes: tuple[str, ...]
    forms: int
    changed: int
    right: int
    text: str = ""
    problem: str = ""

    @property
    def mended(self) -> bool:
        """Whether all forms of the row are right with the change."""
        return self.right == self.forms

    @property
    def harmful(self) -> bool:
        """Whether the change makes right forms wrong."""
        return self.verdict == "right" and self.right < self.changed


def mending(row: Row, gfx: str, changes: Iterable[Change]) -> Change | None:
    """The change after which every form of a row is right in a GPU's kernels."""
    of = (row.encoding, row.instruction, row.features)
    return next(
        (
            each
            for each in changes
            if (each.encoding, each.instruction, each.features) == of
            and gfx in each.gpus
            and each.verdict == row.verdict
            and each.mended
        ),
        None,
    )


_COLUMNS: Final = tuple(field.name for field in fields(Change))


def text(changes: Iterable[Change], about: str = "") -> str:
    """A table as its file has it."""
    out = io.StringIO()
    if about:
        out.write(f"# {about}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for change in changes:
        values = {name: getattr(change, name) for name in _COLUMNS}
        values |= {name: " ".join(sorted(values[name])) or _NONE for name in _SETS}
        writer.writerow(values.values())
    return out.getvalue()


def read(path: Path) -> tuple[Change, ...]:
    """Read a table.

    Raises:
        ConfigError: it cannot be read, or is no such table.
    """
    remedy = "`apuflow conformance --changed` writes it: do not edit it"
    _, reader = lines_of(path, _COLUMNS, "table of changes", remedy)
    return tuple(_change(values, number, path, remedy) for number, values in enumerate(reader, 1))


def _change(values: dict[str, Any], number: int, path: Path, remedy: str) -> Change:
    try:
        words = {name: tuple(word for word in values[name].split() if word != _NONE) for name in _SETS}
        numbers = {name: int(values[name]) for name in _NUMBERS}
        if values["verdict"] not in WEIGHT:
            raise ValueError(values["verdict"])
        return Change(**{**values, **words, **numbers, "features": frozenset(words["features"])})
    except (AttributeError, TypeError, ValueError) as error:
        said = f"not a row of a table of changes: {error}"
        raise ConfigError(said, file=path, key=f"row {number}", remedy=remedy) from None
