"""What is said of a GPU in other places agrees with ``apuflow.core.gpus``."""

from __future__ import annotations

import pytest
from launcher_tools import MACH
from places import ROOT

from apuflow.configure import load_release
from apuflow.configure.catalogue import RELEASES, catalogue
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS, gpu


def test_machine_numbers_are_llvms() -> None:
    assert {name: each.elf_machine for name, each in GPUS.items()} == MACH


def test_the_drivers_numbers_are_those_of_gem5s_topology() -> None:
    """``gpu_id`` in ``configs/example/hsaTopology.py`` of v23.1: Carrizo and Raven share a function."""
    assert {name: each.kfd_id for name, each in GPUS.items() if not each.runs_as} == {
        "gfx801": 2765,
        "gfx803": 50156,
        "gfx900": 22124,
        "gfx902": 2765,
    }


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_takes_the_gpus_that_its_builds_run(release: str) -> None:
    choices = catalogue()["gfx-version"].choices_at(release)
    assert set(load_release(release, ROOT).gfx) <= set(choices) <= set(GPUS)


def test_code_of_later_gpus_runs_as_a_gpu_that_gem5_starts() -> None:
    for each in GPUS.values():
        told = gpu(each.told)
        assert not told.runs_as
        assert (told.isa.build_target, told.kfd_id, told.discrete) == (
            each.isa.build_target,
            each.kfd_id,
            each.discrete,
        )


def test_an_unknown_gpu_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"(?s)--gfx.*gfx1030.*gfx801, gfx803, gfx900, gfx902"):
        gpu("gfx1030", "--gfx")
