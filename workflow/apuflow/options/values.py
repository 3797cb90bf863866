"""The options of a point, stored as what differs from defaults that many points share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apuflow.options.catalogue import Value


class Options(Mapping[str, Value]):
    """All options of a point: what differs from the release's defaults, over those."""

    __slots__ = ("base", "changed")

    def __init__(self, base: Mapping[str, Value], changed: Mapping[str, Value]) -> None:
        self.base = base
        self.changed = changed

    def __getitem__(self, name: str) -> Value:
        return self.changed[name] if name in self.changed else self.base[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.base
        yield from (name for name in self.changed if name not in self.base)

    def __len__(self) -> int:
        return len(self.base) + sum(name not in self.base for name in self.changed)

    def __repr__(self) -> str:
        return f"Options({dict(self.changed)!r})"
