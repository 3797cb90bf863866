"""What users depend on stays as it is: ids of points, paths, rules, commands, keys of files, columns.

Runs of days are found again by the id of their point and their path; scripts call commands and read columns.
A change that is meant: ``python tests/renew_frozen.py``, then look at the difference of ``tests/data/frozen``
and commit it with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from frozen_facts import FACTS, FROZEN, changes


@pytest.fixture(scope="module")
def fresh(new_project: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_project(tmp_path_factory.mktemp("frozen"))


@pytest.mark.parametrize("name", FACTS)
def test_nothing_that_users_depend_on_has_changed(name: str, fresh: Path) -> None:
    frozen, now = (FROZEN / name).read_text(encoding="utf-8"), FACTS[name](fresh)
    found = changes(frozen, now)
    if found or frozen != now:
        pytest.fail(
            f"tests/data/frozen/{name} differs in {len(found)} entries\n  "
            + "\n  ".join(found[:40])
            + "\nIf this is meant: python tests/renew_frozen.py, and say why in the commit",
            pytrace=False,
        )


def test_a_changed_network_is_named(project: Path) -> None:
    """One value of softmax's network: the points of softmax are others, and the message says what changed."""
    network = project / "configs/workloads/softmax.dnnmark"
    network.write_text(network.read_text().replace("c=1000", "c=1001"))
    name = "described.json"
    found = changes((FROZEN / name).read_text(encoding="utf-8"), FACTS[name](project))
    text = "\n".join(found)
    for kind in ("gem5, DNNMark", "gem5-kernels", "preview", "gem5, own gem5 without containers"):
        assert f"changed: {kind} > id" in text and f"changed: {kind} > describe > config" in text
    assert "c=1000" in text and "c=1001" in text and "command" not in text
