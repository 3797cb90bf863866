"""A gem5 of the host, and the tools of a site without containers, as engines are given them."""

from __future__ import annotations

from pathlib import Path

from apuflow.core import paths
from apuflow.engines.base import Inputs
from apuflow.kernels.sources import compile_own
from apuflow.miopen.objects import KernelObject
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.sources import SourceRecord
from apuflow.prepare.tools import Toolset

GEM5 = Gem5Record(
    binary="/opt/gem5.opt",
    sha256="0" * 64,
    script="/opt/apu_se.py",
    source=SourceRecord(path="/opt", commit="1" * 40),
    target="GCN3_X86",
)
RUN = Path("/srv/project/runs/point")


def toolset(root: Path) -> Toolset:
    tools = Toolset("v23.0", root)
    tools.__dict__["image"] = ImageRecord(engine="host", kind="none", name=None, reference=None, digest=None)
    return tools


def own_inputs(root: Path, item: KernelObject) -> Inputs:
    """What a run of kernels of one's own is given: their code object is compiled here."""
    place = paths.kernel_object(item.gfx, item.name)
    compile_own(item.row, item.gfx, root / place, root)
    launcher = root / "build/launcher"
    launcher.parent.mkdir(exist_ok=True)
    launcher.write_bytes(b"a launcher")
    return Inputs("gem5.json", None, None, "build/launcher", {item.row.key: place})
