"""Bytes that DNNMark's layers ask for."""

from __future__ import annotations

import json

import pytest
from dnnmark_texts import COMPOSED, standalone
from places import DATA

from apuflow.dnnmark import (
    device_bytes,
    mmap_bytes,
    parse,
)


def test_reference_configurations_need_the_mmap_bytes_that_dnnmark_asks_for() -> None:
    cases = [json.loads(line) for line in (DATA / "miopen_rows.jsonl").read_text().splitlines()]
    assert len(cases) == 300
    for case in cases:
        assert mmap_bytes(parse(case["config"]), case["direction"]) == case["mmap_bytes"], case["config"]


@pytest.mark.parametrize(
    ("text", "fwd", "bwd", "device"),
    [
        (standalone("Activation", shape=(100, 32, 256, 256)), 838_860_800, 838_860_800, 3_355_443_200),
        (standalone("LRN", shape=(100, 32, 256, 256)), 838_860_800, 838_860_800, 6_710_886_400),
        (standalone("Pooling", shape=(100, 3, 256, 256)), 78_643_200, 78_643_200, 216_268_800),
        (standalone("FullyConnected", shape=(100, 9162, 1, 1)), 150_110_208, 150_110_208, 310_826_816),
        (standalone("BatchNorm", shape=(100, 1000, 1, 1)), 400_000, 400_000, 1_632_000),
        (standalone("Convolution", shape=(126, 3, 256, 256)), 99_090_432, 1_056_964_608, 2_548_058_880),
        (COMPOSED, 1_048_576, 1_048_576, 6_188_032),
    ],
)
def test_bytes_of_the_default_shapes(text: str, fwd: int, bwd: int, device: int) -> None:
    network = parse(text)
    assert (mmap_bytes(network, "fwd"), mmap_bytes(network, "bwd")) == (fwd, bwd)
    assert mmap_bytes(network, "both") == max(fwd, bwd)
    assert device_bytes(network) == device
