"""A preview batch kernel by kernel."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sweep_texts import HEAD, expand

from apuflow.core import paths
from apuflow.core.errors import AnalysisError
from apuflow.core.record import BatchRecord, read
from apuflow.engines.preview_batch import batch_columns, write_batch
from apuflow.results.kernels import preview_kernel_table
from apuflow_analysis.tables.kernels import phases

AXES = "axes: {num-compute-units: [1, 4]}\n"


def test_kernels_add_up_to_the_points_of_the_batch(root: Path) -> None:
    points = expand(root, HEAD + AXES)
    record = root / paths.preview_record("t", "softmax_fwd")
    record.parent.mkdir(parents=True)
    write_batch(points, root / paths.preview_counters("t", "softmax_fwd"), record)
    batch = read(record)
    assert isinstance(batch, BatchRecord)
    table = preview_kernel_table(record.parent, batch, root)
    assert table.attrs["axes"] == ("num_compute_units",)
    whole = pd.DataFrame(batch_columns(points)).set_index("point")
    grouped = phases(table, ["point", "direction"]).set_index("point")
    for name in ("instructions", "dram_bytes_read", "workgroups"):
        assert grouped[name].to_dict() == pytest.approx(whole[name].to_dict())
    assert list(grouped["time_share"]) == [1.0, 1.0]
    assert grouped["ipc"].notna().all() and grouped["occupancy"].between(0, 1).all()
    expand(root, HEAD + AXES.replace("4", "8"))
    with pytest.raises(AnalysisError, match="of its sweep"):
        preview_kernel_table(record.parent, batch, root)
