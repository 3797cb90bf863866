"""Workgroups that a machine cannot hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, expand

from apuflow.core.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("{simds-per-cu: 2, wfs-per-simd: 1}", "wfs-per-simd"),
        ("{lds-size: 1022}", "lds-size"),
        ("{vreg-file-size: 8}", "vreg-file-size"),
        ("{sreg-file-size: 64}", "sreg-file-size"),
    ],
)
def test_a_workgroup_that_never_fits_is_refused(root: Path, options: str, option: str) -> None:
    """Softmax's workgroup: 256 work-items (4 wavefronts) with 1024 bytes of LDS (MIOpenSoftmax.cl)."""
    with pytest.raises(ConfigError, match="SoftmaxForward") as caught:
        expand(root, HEAD + f"options: {options}\n")
    assert caught.value.key == option
    more = {"wfs-per-simd": "{simds-per-cu: 2, wfs-per-simd: 2}", "lds-size": "{lds-size: 1024}"}
    assert expand(root, HEAD + f"options: {more.get(option, '{}')}\n")
