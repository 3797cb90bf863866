"""Words of messages."""

from __future__ import annotations


def many(count: int, noun: str) -> str:
    """A number with its noun: "1 point", "2 points", "1,000 points"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
