"""What every engine does alike."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sweep_texts import HEAD, one

from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.engines import simulating_engine
from apuflow.engines.base import Inputs, Needs
from apuflow.miopen.objects import KernelObject
from apuflow.miopen.prepare import DatabasePlan
from apuflow.prepare.tools import Toolset


def test_inputs_are_what_the_rule_was_given_and_else_what_the_point_needs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = one(root, HEAD.replace("preview", "gem5-kernels"))
    row = SimpleNamespace(program="MIOpenSoftmax.cl", arguments=" -DNUM_BATCH=1")
    item = cast(KernelObject, SimpleNamespace(row=row, gfx="gfx801", name="softmax-1"))
    plan = cast(DatabasePlan, SimpleNamespace(path="cachefiles/some.ukdb", objects=(item,)))
    needs = Needs(("build/gem5.json", "build/image.json"), (item,), plan, "build/mmap.bin", None)
    tools = cast(Toolset, SimpleNamespace())
    kernels = {("MIOpenSoftmax.cl", " -DNUM_BATCH=1"): paths.kernel_object("gfx801", "softmax-1")}
    wanted = Inputs("build/gem5.json", "cachefiles/some.ukdb", "build/mmap.bin")
    whole = simulating_engine("gem5")
    assert whole.inputs(tools, point, needs.rule_inputs()) == wanted
    bare = Needs(("build/gem5.json", "build/image.json")).rule_inputs()
    assert whole.inputs(tools, point, bare) == Inputs("build/gem5.json")
    for name, given in (("gem5", {}), ("gem5-kernels", needs.rule_inputs())):
        engine = simulating_engine(cast(EngineName, name))
        monkeypatch.setattr(type(engine), "needs", lambda *_: needs)
        found = engine.inputs(tools, point, given)
        assert found == Inputs(wanted.gem5, wanted.database, wanted.data, None, kernels)
