"""Results of gem5 that are kept while a suite runs, so that a suite that was cut goes on."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kept:
    """What gem5 did with a case: its values' bytes, or the message with which it ended.

    Attributes:
        taken_from: the form whose message this is, where gem5 was not started for this case.
    """

    data: bytes = b""
    message: str = ""
    taken_from: str = ""


class Store:
    """Results by the key of their case, in one file."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(file)
        columns = "key TEXT PRIMARY KEY, data BLOB, message TEXT, taken_from TEXT"
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS results ({columns})")

    def all(self) -> dict[str, Kept]:
        """Everything that is kept."""
        rows = self._connection.execute("SELECT key, data, message, taken_from FROM results")
        return {key: Kept(zlib.decompress(data), message, other) for key, data, message, other in rows}

    def add(self, results: Iterable[tuple[str, Kept]]) -> None:
        """Keep results; they are on the disk when this returns."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
                [(key, zlib.compress(kept.data, 1), kept.message, kept.taken_from) for key, kept in results],
            )

    def forget(self, keys: Iterable[str]) -> None:
        """Drop results, so that their cases run again."""
        with self._connection:
            self._connection.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in keys])
