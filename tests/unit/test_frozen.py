"""What users depend on stays as it is: ids of points, paths, rules, commands, keys of files, columns.

Runs of days are found again by the id of their point and their path; scripts call commands and read columns.
A change that is meant: ``python tests/renew_frozen.py`` names what changed, each point by its id. Commit the
difference of ``tests/data/frozen`` with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from frozen_facts import FACTS, FROZEN, changes
from frozen_points import named

from apuflow.campaign.campaign import Campaign
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.engines import preview


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


def test_a_new_version_of_the_preview_renames_its_points_and_changes_no_frozen_fact(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f".v{PREVIEW_VERSION}" not in "".join(file.read_text() for file in FROZEN.iterdir())
    monkeypatch.setattr(preview, "PREVIEW_VERSION", "new")
    name = "described.json"
    text = FACTS[name](project)
    assert text == (FROZEN / name).read_text(encoding="utf-8")
    (point,) = Campaign(project / "described/3").points("frozen", "softmax_bwd")
    content = json.loads(text)["preview"]["describe"] | {"version": "new"}
    assert point.describe() == content
    assert point.id == named(point.label, content)
