"""What a run's record says of its gem5 release: facts that decide how its statistics are read.

They stand in the release's file (``capabilities`` in ``configs/gem5``); a record repeats them, so that tables
can be made without that file, and so that a release's name means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEY = "release_facts"
"""Where a run record has them."""


@dataclass(frozen=True)
class ReleaseFacts:
    """Facts of a gem5 release.

    Attributes:
        barrier_slots: workgroups of several wavefronts that a compute unit holds at a time.
        keeps_cache_statistics: a reset of the statistics leaves those of the caches as they are: every
            block of a file counts cache accesses from the start of the run.
        never_counted: names of counters that gem5 prints and never counts: they are unknown, not 0.
        gem5_version: what gem5 prints after ``gem5 version``; None: it is not compared.
    """

    barrier_slots: int
    keeps_cache_statistics: bool
    never_counted: tuple[str, ...] = ()
    gem5_version: str | None = None


def release_facts(record: Mapping[str, Any]) -> ReleaseFacts | None:
    """The facts that a run record holds; None: it holds none (written before records had them).

    Raises:
        ValueError: they are there, and are not what they should be.
    """
    found = record.get(KEY)
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise ValueError(KEY)
    slots, keeps = found.get("barrier_slots"), found.get("keeps_cache_statistics")
    never, version = found.get("never_counted", []), found.get("gem5_version")
    if (
        type(slots) is not int
        or type(keeps) is not bool
        or not isinstance(never, list | tuple)
        or not all(isinstance(name, str) for name in never)
        or not isinstance(version, str | None)
    ):
        raise ValueError(KEY)
    return ReleaseFacts(slots, keeps, tuple(never), version)
