"""The gem5 that APUFLOW_TEST_GEM5 names: which release it is, and which GPUs it runs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import needs
import pytest
from places import ROOT

from apuflow.configure import Release, load_release
from apuflow.configure.loading import release_names
from apuflow.core.gpus import GPUS
from apuflow.run.command import Gem5

NAMED = os.environ.get("APUFLOW_TEST_GEM5")
TARGET = Path(NAMED).resolve().parent.name if NAMED else "GCN3_X86"
"""Its build target: the name of the directory that scons made it in."""
APU, DISCRETE = (
    next(gpu.name for gpu in GPUS.values() if gpu.isa.build_target == TARGET and gpu.discrete == discrete)
    for discrete in (False, True)
)


def binary() -> Path:
    """The program; the running test is skipped where none is named."""
    return Path(NAMED).resolve() if NAMED else needs.GEM5.skip()


def gem5(release: Release) -> Gem5:
    """It and its script, and where this release writes its texts."""
    program = binary()
    facts = release.capabilities
    script = program.parents[2] / "configs" / "example" / "apu_se.py"
    return Gem5(program, script, facts.stdout_file, facts.stderr_file)


def release() -> Release:
    """The release whose version its sources state (``src/base/version.cc``); v23.0 where none is named."""
    if not NAMED:
        return load_release("v23.0", ROOT)
    text = (binary().parents[2] / "src/base/version.cc").read_text(encoding="utf-8")
    version = re.findall(r'gem5Version = "(?:\[)?([^"\]]+)', text)[0]
    known = {
        found.capabilities.gem5_version: found
        for name in release_names(ROOT)
        if (found := load_release(name, ROOT))
    }
    if version not in known:
        pytest.exit(
            f"no file of configs/gem5 says gem5_version: {version}; add one for this gem5", returncode=2
        )
    return known[version]
