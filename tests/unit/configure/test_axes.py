"""Lists of values as people write them by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, expand

from apuflow.core.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tcc-size: [256kB 1MB]", "[256kB, 1MB]"),
        ("tcc-size: [256kB, 1MB 4MB]", "[1MB, 4MB]"),
        ("tcc-size: [256 kB 1 MB]", "[256kB, 1MB]"),
        ("num-compute-units: [4 8 16]", "[4, 8, 16]"),
        ("num-compute-units: [4; 8]", "[4, 8]"),
        ("num-compute-units: 4, 8", "[4, 8]"),
        ("gpu-clock: [1GHz\n    800MHz]", "[1GHz, 800MHz]"),
        ("layer: {n: [1 2]}", "[1, 2]"),
        ("TLB-config: [perCU 2CU]", "[perCU, 2CU]"),
    ],
)
def test_a_missing_comma_is_named(root: Path, written: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(root, f"{HEAD}axes:\n  {written}\n")
    assert str(caught.value.remedy).partition(";")[0] == f"write {meant}"
    assert str(caught.value.file).endswith(f"t.yaml:{HEAD.count(chr(10)) + 2}")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("0.25MB", "256kB"), ("256 kB", "256kB"), ("256KB", "256kB"), ("1.5 GiB", "1536MB")],
)
def test_a_size_that_gem5_does_not_read_is_answered_with_the_one_meant(
    root: Path, written: str, meant: str
) -> None:
    """``toMemorySize`` (gem5 v23.0, ``m5/util/convert.py``) takes whole numbers and no K."""
    with pytest.raises(ConfigError, match="a size above zero is expected") as caught:
        expand(root, f"{HEAD}options: {{tcc-size: {written}}}\n")
    assert str(caught.value.remedy).partition(";")[0] == f"write {meant}"
