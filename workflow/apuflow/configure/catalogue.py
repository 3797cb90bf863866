"""Every option of gem5's ``apu_se.py``, per release: read from ``apu_se.yaml`` beside this file.

Source: ``configs/example/apu_se.py`` and the files it imports, gem5 v21.1.0.2 to v24.0.0.1, and develop of
24 October 2024 for v24.1. v25.0: single files (``tests/unit/apu_se_sources.py`` says which).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from apuflow.configure import yaml_source
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar

Type: TypeAlias = Literal["int", "flag", "text", "size", "clock", "voltage"]
Role: TypeAlias = Literal["machine", "workflow", "refused", "ignored"]
RELEASES = ("v21.1", "v21.2", "v22.0", "v22.1", "v23.0", "v23.1", "v24.0", "v24.1", "v25.0")
"""gem5 releases that the catalogue describes, oldest first."""
CHOICE_CHANGES = ("choices", "added_choices")
"""Keys of ``Option.changes`` with values that a later release takes."""
_ROLES: dict[str, Role] = {"workflow": "workflow", "refused": "refused", "ignored": "ignored"}


@dataclass(frozen=True)
class Option:
    """One option of ``apu_se.py``.

    Attributes:
        name: as on the command line, without dashes.
        group: heading in the documentation.
        role: ``machine``: free to choose; ``workflow``: this workflow sets it; ``refused``: gem5 accepts it
            and then breaks; ``ignored``: gem5 accepts it and nothing reads it.
        default: gem5's own at the first release that knows it; None: none.
        workflow_default: this workflow's, where gem5's own cannot work.
        minimum, maximum: what this workflow takes.
        gem5_minimum: gem5 itself starts with this value and all above, ``minimum`` and ``maximum`` or not.
        changes: by release: another ``default`` or other ``choices`` from that release on.
        instead: what has the effect that an ignored option promises.
        needless: why nothing has to be set to have that effect.
        needs_garnet: only the garnet network reads it.
        also: other names that people use for it, in small letters with dashes.
    """

    name: str
    group: str
    role: Role
    type: Type
    meaning: str = ""
    short: str | None = None
    default: Scalar | None = None
    workflow_default: Scalar | None = None
    unit: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    gem5_minimum: int | None = None
    multiple_of: int | None = None
    power_of_two: bool = False
    choices: tuple[Scalar, ...] = ()
    since: str | None = None
    until: str | None = None
    changes: Mapping[str, Mapping[str, Any]] | None = None
    instead: str = ""
    needless: str = ""
    needs_garnet: bool = False
    also: tuple[str, ...] = ()

    def known_to(self, release: str) -> bool:
        """Whether ``apu_se.py`` of this release takes the option."""
        index = position(release)
        first = 0 if self.since is None else position(self.since)
        last = len(RELEASES) - 1 if self.until is None else position(self.until)
        return first <= index <= last

    def starts_with(self, value: object) -> bool:
        """Whether gem5 itself starts with a whole number that this workflow does not take."""
        return self.gem5_minimum is not None and isinstance(value, int) and value >= self.gem5_minimum

    def default_at(self, release: str) -> Scalar | None:
        """What ``apu_se.py`` of this release starts with."""
        changed: list[Scalar | None] = [
            change["default"] for change in self._changes_until(release) if "default" in change
        ]
        return [self.default, *changed][-1]

    def choices_at(self, release: str) -> tuple[Scalar, ...]:
        """The values that this release can use; empty: not a closed set."""
        choices = self.choices
        for change in self._changes_until(release):
            choices = tuple(change.get("choices", choices)) + tuple(change.get("added_choices", ()))
        return choices

    def _changes_until(self, release: str) -> list[Mapping[str, Any]]:
        index = position(release)
        return [change for since, change in (self.changes or {}).items() if position(since) <= index]


def position(release: str) -> int:
    """Order of a release; ConfigError when the catalogue does not describe it."""
    try:
        return RELEASES.index(release)
    except ValueError:
        message = "the option catalogue does not describe this gem5 release"
        remedy = f"one of {', '.join(RELEASES)} (options_of in the release file)"
        raise ConfigError(message, value=release, remedy=remedy) from None


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Option]:
    """All options by name, in documentation order."""
    document = yaml_source.load(Path(__file__).with_name("apu_se.yaml"))
    options: dict[str, Option] = {}
    for group, entries in document.data.items():
        for name, entry in entries.items():
            fields = {key: value for key, value in entry.items() if key != "workflow"}
            fields |= {key: tuple(fields[key]) for key in ("choices", "also") if key in fields}
            fields.setdefault("type", "text")
            if fields["type"] == "flag":
                fields.setdefault("default", False)
            options[name] = Option(
                name=name,
                group=group,
                role=_ROLES.get(group, "machine"),
                workflow_default=entry.get("workflow"),
                **fields,
            )
    return options


@lru_cache(maxsize=1)
def short_names() -> Mapping[str, str]:
    """Long name by one-letter name."""
    return {option.short: name for name, option in catalogue().items() if option.short}
