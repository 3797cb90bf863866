"""Workgroups that a machine cannot hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sweep_texts import HEAD, expand

from apuflow.configure.fit import Capacity, overflows
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GCN3


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


def test_what_would_be_enough_is_counted_by_hand(root: Path) -> None:
    """Four wavefronts and 1024 bytes of LDS on units of one SIMD with two slots and 512 bytes."""
    [point] = expand(root, HEAD)
    room = Capacity(
        isa=GCN3,
        simds=1,
        slots_per_simd=2,
        registers_per_simd=2048,
        scalars_per_simd=2048,
        register_block=4,
        lds_bytes=512,
    )
    assert {each.option: each.needed for each in overflows(point.work, 4, room)} == {
        "wfs-per-simd": 4,
        "lds-size": 1024,
    }
    enough = replace(room, slots_per_simd=4, lds_bytes=1024)
    assert overflows(point.work, 4, enough) == ()


def test_a_unit_has_ample_room_when_the_largest_workgroup_fits() -> None:
    """1024 work-items are 16 wavefronts; GCN3 names 256 vector and 112 scalar registers, 64 KB of LDS."""
    ample = Capacity(
        isa=GCN3,
        simds=4,
        slots_per_simd=4,
        registers_per_simd=4 * 256,
        scalars_per_simd=16 * 112,
        register_block=4,
        lds_bytes=65536,
    )
    assert ample.ample
    for less in (
        replace(ample, slots_per_simd=3),
        replace(ample, registers_per_simd=1023),
        replace(ample, scalars_per_simd=1791),
        replace(ample, lds_bytes=65535),
        replace(ample, simds=3),
        replace(ample, isa=replace(GCN3, vector_registers=512)),
    ):
        assert not less.ample, less
