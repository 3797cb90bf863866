"""The files behind a sweep, as its report shows them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from apuflow.configure import load_sweep
from apuflow.plan.campaign import Campaign

WORKLOAD = """\
description: a code object of another compiler
kind: kernels
source: kernels/mine.co
buffers: {x: {type: float, elements: 64}}
launches:
  - {kernel: f, grid: [64], workgroup: [64], arguments: [x]}
"""


def test_a_report_has_the_size_of_a_file_without_text(root: Path) -> None:
    data = bytes(range(256))
    (root / "configs/workloads/kernels/mine.co").write_bytes(data)
    (root / "configs/workloads/mine.yaml").write_text(WORKLOAD)
    (root / "configs/sweeps/mine.yaml").write_text(
        "description: x\nengines: [gem5-kernels]\nworkloads: [mine]\n"
    )
    sources = Campaign(root).sources(load_sweep("mine", root))
    assert sources["configs/workloads/mine.yaml"] == WORKLOAD
    (told,) = (text for name, text in sources.items() if name.endswith("mine.co"))
    assert told == f"256 bytes, sha256 {hashlib.sha256(data).hexdigest()}"
