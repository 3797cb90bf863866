"""What is said of a GPU in other places agrees with ``apuflow.core.gpus``."""

from __future__ import annotations

import re

import pytest
from launcher_tools import MACH
from places import ROOT

from apuflow.configure import load_release
from apuflow.configure.catalogue import RELEASES, catalogue
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS, gpu
from apuflow.launcher.program import GUEST


def test_machine_numbers_are_llvms() -> None:
    assert {name: each.elf_machine for name, each in GPUS.items()} == MACH


def test_the_guest_program_knows_the_same_gpus() -> None:
    table = re.search(r"DEVICES\[\] = \{\n(.*?)\n\};", (GUEST / "list.c").read_text(), re.DOTALL)
    assert table is not None
    listed = {}
    for line in table[1].splitlines():
        fields = dict(re.findall(r"\.(\w+) = (\"?\w+)", line))
        listed[fields["name"].strip('"')] = int(fields["elf_machine"], 16), "discrete" in fields
    assert listed == {name: (each.elf_machine, each.discrete) for name, each in GPUS.items()}


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_takes_the_gpus_that_its_builds_run(release: str) -> None:
    choices = catalogue()["gfx-version"].choices_at(release)
    assert set(load_release(release, ROOT).gfx) <= set(choices) <= set(GPUS)


def test_an_unknown_gpu_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"(?s)--gfx.*gfx90a.*gfx801, gfx803, gfx900, gfx902"):
        gpu("gfx90a", "--gfx")
