"""What every engine does alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from apuflow.core import paths
from apuflow.engines.base import Inputs, Needs
from apuflow.miopen.database import DatabasePlan
from apuflow.miopen.objects import KernelObject


def test_a_run_reads_the_named_inputs_of_its_rule() -> None:
    row = SimpleNamespace(program="MIOpenSoftmax.cl", arguments=" -DNUM_BATCH=1")
    item = cast(KernelObject, SimpleNamespace(row=row, gfx="gfx801", name="softmax-1"))
    plan = cast(DatabasePlan, SimpleNamespace(path="cachefiles/some.ukdb", objects=(item,)))
    needs = Needs(("build/gem5.json", "build/image.json"), (item,), plan, "build/mmap.bin", None)
    kernels = {("MIOpenSoftmax.cl", " -DNUM_BATCH=1"): paths.kernel_object("gfx801", "softmax-1")}
    found = Inputs.of(needs.rule_inputs(), needs.objects_by_row())
    assert found == Inputs("build/gem5.json", "cachefiles/some.ukdb", "build/mmap.bin", None, kernels)
    bare = Needs(("build/gem5.json", "build/image.json"))
    assert Inputs.of(bare.rule_inputs(), bare.objects_by_row()) == Inputs("build/gem5.json")
