"""FLAT instructions whose lanes mean LDS, private or global memory (LLVM's AMDGPU guide)."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from apuflow.interpret import native
from apuflow.interpret.access import memory_step
from apuflow.interpret.deferred import Deferred, ReadsLeftOut
from apuflow.interpret.encodings import VECTOR, Instruction
from apuflow.interpret.native_ops import MOVER, Encoder
from apuflow.interpret.state import LANES, Lds, Memory, Waves

LANE = np.arange(LANES)
STORE = Instruction(64, 8, "flat", "flat_store_dword", sources=(VECTOR, VECTOR + 2, 0x7F), offsets=(0,))
LOAD = Instruction(64, 8, "flat", "flat_load_dword", 3, sources=(VECTOR, VECTOR + 2, 0x7F), offsets=(0,))


def wavefront() -> Waves:
    """Lanes 0, 3, ... mean LDS, 1, 4, ... private memory, the others global memory: all byte 4 * lane."""
    memory, lds = Memory({"x": 256, "private": 64 * 256}), Lds(1, 256)
    lds.live[:] = 1
    v = np.zeros((4, 1, LANES), np.uint32)
    plain = memory.places["x"].address + 4 * LANE
    v[0, 0] = np.where(LANE % 3 == 2, plain & 0xFFFFFFFF, 4 * LANE)
    apertures = [0x10000, 0x20000]  # of LDS and of private memory, in gem5's Shader
    v[1, 0] = np.select([LANE % 3 == 0, LANE % 3 == 1], apertures, plain >> 32)
    v[2, 0] = 100 + LANE
    private = np.array([memory.places["private"].address])
    zero = np.zeros(1, np.int64)
    scalars, lanes, no = np.zeros((128, 1), np.uint32), np.ones((1, LANES), np.bool_), np.zeros(1, np.bool_)
    return Waves(scalars, v, lanes, no, zero, zero, private, memory, lds, 4)


def test_each_lane_has_its_own_kind_of_memory() -> None:
    """Private memory has the same word of all 64 lanes side by side."""
    waves = wavefront()
    memory_step(STORE)(waves)
    for kind, found in enumerate(
        (
            waves.lds.bytes[:256].view(np.uint32),
            waves.memory.view("private").view(np.uint32).reshape(64, LANES)[LANE, LANE],
            waves.memory.view("x").view(np.uint32),
        )
    ):
        assert found.tolist() == np.where(kind == LANE % 3, 100 + LANE, 0).tolist()
    memory_step(LOAD)(waves)
    assert waves.v[3, 0].tolist() == (100 + LANE).tolist()
    assert waves.exec.all()


def test_the_compiled_executor_leaves_it_to_numpy(library: native.Library) -> None:
    waves = wavefront()
    ops, movers = np.array([Encoder(library.functions, "vega").row(STORE)]), np.zeros(1, MOVER)
    assert not library.op(ctypes.addressof(native.waves_of(waves)), ops.ctypes.data, movers.ctypes.data)
    assert not waves.lds.bytes.any()
    assert not waves.memory.bytes.any()


def test_a_slice_does_not_follow_values_through_lds() -> None:
    waves = wavefront()
    waves.memory.deferred = Deferred(waves.memory, {})
    with pytest.raises(ReadsLeftOut):
        memory_step(LOAD)(waves)
