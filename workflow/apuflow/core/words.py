"""Words of messages."""

from __future__ import annotations


def many(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 point", "1,000 points"; ``plural`` if it is irregular."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
