"""Options of ``apu_se.py`` of a point: its own over the defaults of its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from apuflow.core.scalar import Scalar

_MISSING: Any = object()
NONE: Mapping[str, Scalar] = {}
"""The shared empty base."""


class Options(Mapping[str, Scalar]):
    """All options of a point: its own over the release's defaults."""

    __slots__ = ("base", "changed")

    def __init__(self, base: Mapping[str, Scalar], changed: Mapping[str, Scalar]) -> None:
        self.base = base
        self.changed = changed

    def __getitem__(self, name: str) -> Scalar:
        return self.changed[name] if name in self.changed else self.base[name]

    @override
    def get(self, name: str, default: Any = None) -> Any:
        found = self.changed.get(name, _MISSING)
        return self.base.get(name, default) if found is _MISSING else found

    @override
    def __contains__(self, name: object) -> bool:
        return name in self.changed or name in self.base

    def __iter__(self) -> Iterator[str]:
        yield from self.base
        yield from (name for name in self.changed if name not in self.base)

    def __len__(self) -> int:
        return len(self.base) + sum(name not in self.base for name in self.changed)

    def __repr__(self) -> str:
        return f"Options({dict(self.changed)!r})"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Options:
        """Convert any options."""
        return options if isinstance(options, cls) else cls(NONE, options)


def column(options: Sequence[Options], name: str, default: Scalar | None = None) -> list[Any]:
    """An option of many points; ``default`` for points without it."""
    standard = {id(one.base): one.base.get(name, default) for one in options}
    return [one.changed.get(name, standard[id(one.base)]) for one in options]
