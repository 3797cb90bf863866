"""What a release file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import (
    load_release,
    release_names,
)
from apuflow.core.errors import ConfigError


def test_releases_say_what_differs(root: Path) -> None:
    known = ["v21.1", "v21.2", "v22.0", "v22.1", "v23.0", "v23.1", "v24.0", "v24.1", "v25.0", "v25.1"]
    assert release_names(root) == known
    releases = {name: load_release(name, root) for name in release_names(root)}
    assert releases["v22.1"].gem5.commit == "5fa484e2e02604ad3a5bf01f35ad1f97ca6d17b8"
    assert releases["v22.1"].build_target("gfx801") == "GCN3_X86"
    assert releases["v23.0"].build_target("gfx902") == "VEGA_X86"
    assert releases["v24.0"].gfx[:2] == ("gfx902", "gfx900")
    assert set(releases["v24.0"].gfx[2:]) == {"gfx906", "gfx908", "gfx90a", "gfx942"}
    with pytest.raises(ConfigError, match="gfx902"):
        releases["v24.0"].build_target("gfx801")
    redirects = {name: release.capabilities.stdout_file for name, release in releases.items()}
    assert redirects["v23.0"] == "simout" and redirects["v23.1"] == "simout.txt"
    per_kernel = [name for name, release in releases.items() if release.capabilities.per_kernel_statistics]
    assert per_kernel == ["v24.0", "v24.1", "v25.0", "v25.1"]


def test_a_release_says_of_each_of_its_builds_what_it_executes_wrongly(root: Path) -> None:
    path = root / "configs/gem5/v22.1.yaml"
    path.write_text(re.sub(r" {4}VEGA_X86:\n( {6,}.+\n)+", "", path.read_text(), count=1))
    with pytest.raises(ConfigError, match="for GCN3_X86 and VEGA_X86") as caught:
        load_release("v22.1", root)
    assert str(caught.value.file).startswith(f"{path}:")
    assert caught.value.key == "capabilities.instruction_defects"


def test_what_is_known_of_a_release_that_nobody_has_read_as_a_whole(root: Path) -> None:
    """v25.0: apu_se.py and where it has its options from were read; src/gpu-compute/GPU.py, say, was not."""
    release = load_release("v25.0", root)
    assert release.facts.assumed_of == "v24.1"
    assert not {"options", "build_targets", "instruction_defects"} & set(release.facts.assumed)
    assert {"barrier_slots", "keeps_cache_statistics", "never_counted"} <= set(release.facts.assumed)
    assert load_release("v25.1", root).facts.assumed_of == "v25.0"
    assert load_release("v24.1", root).facts.assumed_of is None


@pytest.mark.parametrize(
    ("before", "after", "key", "said"),
    [
        ("  options: sources", "  option: sources", "origins.option", "options"),
        ("  options: sources", "  options: heard", "origins.options", "sources"),
        ("known_by: nearest\nnearest: v24.1", "", "origins", "leave it out"),
        ("nearest: v24.1", "nearest: v26.0", "nearest", "v21.1"),
    ],
)
def test_mistakes_in_what_is_known(root: Path, before: str, after: str, key: str, said: str) -> None:
    path = root / "configs/gem5/v25.0.yaml"
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ConfigError) as caught:
        load_release("v25.0", root)
    assert str(caught.value.file).startswith(f"{path}:")
    assert caught.value.key == key and said in f"{caught.value} {caught.value.remedy}"


def test_the_documents_say_how_each_release_is_known(root: Path) -> None:
    """README's table and that of docs/configuration.md; those known in part are the last ones."""
    partly = [name for name in release_names(root) if load_release(name, root).known_by == "nearest"]
    table = (
        (ROOT / "docs/configuration.md").read_text().split("How each release is known")[1].split("\n\n")[1]
    )
    rows = [row.split("|")[1:3] for row in table.splitlines()[2:]]
    named = {name: known for names, known in rows for name in re.findall(r"`(v[\d.]+)`", names)}
    assert sorted(named) == release_names(root)
    assert [name for name, known in sorted(named.items()) if "the rest as in" in known] == partly
    readme = (ROOT / "README.md").read_text()
    assert f"| {', '.join(partly)} | Vega | single files, release notes" in readme
