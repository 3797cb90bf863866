"""What a release file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apuflow.configure import (
    load_release,
    release_names,
)
from apuflow.core.errors import ConfigError


def test_releases_say_what_differs(root: Path) -> None:
    assert release_names(root) == ["v21.1", "v21.2", "v22.0", "v22.1", "v23.0", "v23.1", "v24.0", "v24.1"]
    releases = {name: load_release(name, root) for name in release_names(root)}
    assert releases["v22.1"].gem5.commit == "5fa484e2e02604ad3a5bf01f35ad1f97ca6d17b8"
    assert releases["v22.1"].build_target("gfx801") == "GCN3_X86"
    assert releases["v23.0"].build_target("gfx902") == "VEGA_X86"
    assert releases["v24.0"].gfx == ("gfx902", "gfx900")
    with pytest.raises(ConfigError, match="gfx902"):
        releases["v24.0"].build_target("gfx801")
    redirects = {name: release.capabilities.stdout_file for name, release in releases.items()}
    assert redirects["v23.0"] == "simout" and redirects["v23.1"] == "simout.txt"
    per_kernel = [name for name, release in releases.items() if release.capabilities.per_kernel_statistics]
    assert per_kernel == ["v24.0", "v24.1"]


def test_a_release_says_of_each_of_its_builds_what_it_executes_wrongly(root: Path) -> None:
    path = root / "configs/gem5/v22.1.yaml"
    path.write_text(re.sub(r" {4}VEGA_X86:\n( {6,}.+\n)+", "", path.read_text(), count=1))
    with pytest.raises(ConfigError, match="for GCN3_X86 and VEGA_X86") as caught:
        load_release("v22.1", root)
    assert str(caught.value.file).startswith(f"{path}:")
    assert caught.value.key == "capabilities.instruction_defects"
