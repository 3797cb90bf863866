"""Keys of an operation: what its class states of each of its attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, field, fields, replace
from typing import Any, Final

from typing_extensions import override

from apuflow import dnnmark
from apuflow.core.scalar import Scalar

_KEY: Final = "key"


class Key(dnnmark.Key):
    """One key of an operation's shape. Without a default it must be given."""

    @override
    def read(self, value: object) -> Scalar:
        """The value, which may be spelled as text. Raises ValueError with what would be right."""
        if self.type is bool:
            found = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
            if not isinstance(found, bool):
                raise ValueError("true or false")
            return found
        if self.type is str:
            if self.choices and value not in self.choices:
                raise ValueError(f"one of {', '.join(self.choices)}")
            return str(value)
        return self._read_number(value)

    def _read_number(self, value: object) -> Scalar:
        whole = self.type is int
        wanted = "a whole number" if whole else "a number"
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(wanted)
        try:
            number = int(value) if whole and not isinstance(value, float) else float(value)
        except ValueError:
            raise ValueError(wanted) from None
        if not math.isfinite(number) or (whole and number != int(number)):
            raise ValueError(wanted)
        return self.type(self.bounded(number))


def whole(meaning: str, default: int | None = None, minimum: int = 1) -> Any:
    """An attribute that is a whole number; without a default it must be given."""
    return _attribute(Key(int, default, meaning, minimum))


def real(meaning: str, default: float | None = None, minimum: float | None = None) -> Any:
    """An attribute that is a number."""
    return _attribute(Key(float, default, meaning, minimum))


def flag(meaning: str, default: bool) -> Any:
    """An attribute that is true or false."""
    return _attribute(Key(bool, default, meaning))


def choice(meaning: str, default: str | None, choices: tuple[str, ...]) -> Any:
    """An attribute that is one of a few words."""
    return _attribute(Key(str, default, meaning, choices=choices))


def words(meaning: str) -> Any:
    """An attribute of text that must be given."""
    return _attribute(Key(str, None, meaning))


def keys_of(kind: type[Any]) -> Iterator[Key]:
    """The keys of an operation's class, in order."""
    for attribute in fields(kind):
        if _KEY in attribute.metadata:
            yield replace(attribute.metadata[_KEY], name=attribute.name)


def _attribute(key: Key) -> Any:
    return field(default=MISSING if key.default is None else key.default, metadata={_KEY: key})
