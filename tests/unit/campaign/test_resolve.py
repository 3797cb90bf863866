"""Options that follow from the workload and the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, one


def test_memory_follows_the_workload_and_the_topology_the_units(root: Path) -> None:
    """3.4 GB of tensors and the file that is mapped to fill them need 8 GB; softmax fits into 1 GB."""
    activation = one(root, HEAD.replace("softmax_fwd", "activation_fwd"), "activation_fwd")
    assert activation.options["mem-size"] == "8GB"
    assert one(root, HEAD).options["mem-size"] == "1GB"
    assert one(root, HEAD + "options: {num-compute-units: 64}\n").options["cu-per-sa"] == 64
    given = HEAD + "options: {num-compute-units: 64, cu-per-sa: 16, sa-per-complex: 4, mem-size: 3GB}\n"
    assert one(root, given).options["cu-per-sa"] == 16
    assert one(root, given).options["mem-size"] == "3GB"


def test_a_point_has_every_option_of_its_release(root: Path) -> None:
    options = one(root, HEAD).options
    assert options["simds-per-cu"] == 4 and options["num-cpus"] == 3 and options["FunctionalTLB"] is False
    assert len(options) == len(set(options)) == len(dict(options))
    with pytest.raises(KeyError):
        options["no-such"]
