"""Reads and checks the tables of networks and suites: CSV files with named columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import ConfigError


@dataclass(frozen=True)
class Row:
    """A row of a table: its place, and text by column."""

    file: Path
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """A cell's text."""
        return self.cells[column]

    def whole(self, column: str, default: int | None = None, minimum: int = 0) -> int:
        """A cell as a whole number; a missing column is an empty cell, which is a mistake without a default.

        Raises ConfigError: not a whole number from ``minimum`` on.
        """
        text = self.cells.get(column, "").strip()
        if not text and default is not None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if value < minimum:
            raise self.wrong(column, f"a whole number from {minimum} on is expected", "correct the cell")
        return value

    def wrong(self, column: str, what: str, remedy: str) -> ConfigError:
        """What is wrong with a cell."""
        where, value = f"{self.file}:{self.line}", self.cells.get(column, "").strip()
        return ConfigError(what, file=where, key=column, value=value, remedy=remedy)

    def size(self, column: str) -> int:
        """A cell as a whole number of at least 1."""
        return self.whole(column, minimum=1)

    def sizes(self, *columns: str) -> dict[str, int]:
        """Cells as whole numbers of at least 1, by column."""
        return {column: self.size(column) for column in columns}


def read_rows(file: Path, needed: Iterable[str]) -> tuple[Row, ...]:
    """The rows of a table with the columns that are needed; others are ignored.

    Raises ConfigError: it cannot be read, lacks a column or rows, or a row has another number of cells.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
        raise ConfigError(f"cannot read the table: {why}", file=file, remedy="put the table there") from None
    reader = csv.DictReader(text.splitlines())
    columns = reader.fieldnames or ()
    for column in needed:
        if column not in columns:
            remedy = f"its first line names {', '.join(columns) or 'nothing'}"
            raise ConfigError("the table lacks a column", file=file, key=column, remedy=remedy)
    rows = []
    for cells in reader:
        line = reader.line_num
        if None in cells or any(cell is None for cell in cells.values()):
            what, remedy = "a row has more or fewer cells than the table has columns", f"{len(columns)} cells"
            raise ConfigError(what, file=f"{file}:{line}", value=len(cells), remedy=remedy)
        rows.append(Row(file, line, cells))
    if not rows:
        raise ConfigError("the table has no row", file=file, remedy="add at least one")
    return tuple(rows)
