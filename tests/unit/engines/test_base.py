"""What every engine does alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from apuflow.core import paths
from apuflow.engines.base import Needs
from apuflow.miopen import Row
from apuflow.miopen.database import DatabasePlan
from apuflow.miopen.objects import KernelObject


def test_a_database_stands_for_the_objects_in_it() -> None:
    item = KernelObject(Row("MIOpenSoftmax.cl", " -DNUM_BATCH=1"), "gfx801", "softmax-1")
    path = paths.kernel_object("gfx801", "softmax-1")
    plan = cast(DatabasePlan, SimpleNamespace(path="cachefiles/some.ukdb", objects=(item,)))
    tools = ("build/gem5.json", "build/image.json")
    needs = Needs(tools, (item,), plan, "build/mmap.bin")
    assert needs.inputs().files == [*tools, "cachefiles/some.ukdb", "build/mmap.bin"]
    assert path in needs.made_for_runs() and not set(tools) & set(needs.made_for_runs())
    alone = Needs(tools, (item,)).inputs()
    assert alone.files == [*tools, path]
    assert alone.objects == {("MIOpenSoftmax.cl", " -DNUM_BATCH=1"): path}
