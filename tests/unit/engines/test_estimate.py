"""Host memory that a run will need."""

from __future__ import annotations

from pathlib import Path

from sweep_texts import HEAD, one

from apuflow.engines import get_engine


def test_memory_estimate_grows_with_tensors_and_units(root: Path) -> None:
    head = HEAD.replace("preview", "gem5")
    small, wide = one(root, head), one(root, head + "options: {num-compute-units: 64}\n")
    large = one(root, head.replace("softmax_fwd", "lrn_fwd"), "lrn_fwd")
    gem5, preview = get_engine("gem5"), get_engine("preview")
    assert gem5.host_memory(small) < gem5.host_memory(wide) < gem5.host_memory(large)
    assert gem5.host_memory(large) > 2 * 6_700_000_000
    assert preview.host_memory(one(root, HEAD)) == 0
