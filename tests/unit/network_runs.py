"""Every operation of four networks on gem5 v23.0.1.0, 4 and 16 units, inputs in memory: sweeps and cycles."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from sweep_texts import write_suite_sweep

IMAGES = {"resnet18": 32, "mobilenet_v2": 32, "squeezenet1_1": 64, "resnet152": 32}
_FILE = Path(__file__).parents[1] / "data/networks_in_memory_gem5.csv"


def network_sweep(root: Path, network: str, units: int) -> pd.DataFrame:
    """Write sweep ``net`` of a network; gem5's cycles of it: ``operation``, ``kernel``, ``gpu_cycles``."""
    layer, options = {"n": 1, "image": IMAGES[network]}, {"num-compute-units": units}
    write_suite_sweep(root, network, layer=layer, options=options, inputs="memory")
    rows = pd.read_csv(_FILE)
    chosen = (rows["network"] == network) & (rows["compute_units"] == units)
    return rows.loc[chosen, ["operation", "kernel", "gpu_cycles"]]
