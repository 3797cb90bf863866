"""Who owns a job, and whether it is still alive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apuflow.core.owner import Labels, Owner, is_leftover
from apuflow.core.proc import boot_id


def test_owners_are_told_apart() -> None:
    me = Owner.current()
    assert Owner.parse(str(me)) == me
    assert not me.is_dead()
    assert replace(me, started=me.started + 1).is_dead()  # the number was given to another process
    assert replace(me, boot="an earlier boot").is_dead()
    assert not replace(me, host="another machine", pid=1 << 21).is_dead()  # cannot be known from here
    assert me.boot == boot_id()
    for text in ("", "a/b", "a/b/c/d", "host/boot/12/x"):
        assert Owner.parse(text) is None


def test_only_this_projects_dead_are_leftovers(tmp_path: Path) -> None:
    labels = Labels.here(tmp_path, "p")
    assert not is_leftover(labels.as_dict(), tmp_path)
    dead = replace(labels, owner=replace(labels.owner, started=1)).as_dict()
    assert is_leftover(dead, tmp_path)
    assert not is_leftover(dead, tmp_path / "other")
    assert not is_leftover({**dead, "org.apuflow.owner": "nonsense"}, tmp_path)
