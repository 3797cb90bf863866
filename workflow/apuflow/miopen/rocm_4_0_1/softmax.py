"""Softmax: ``MIOpenSoftmax.cl``. Source: MIOpen ``src/ocl/softmaxocl.cpp``, ``src/softmax_api.cpp``."""

from __future__ import annotations

from functools import lru_cache

from apuflow.miopen.launch import Launch, LayerPass
from apuflow.miopen.rocm_4_0_1.common import FP32, floats, ints

GROUP = 256
MOST_WORKGROUPS = 64 * 40 * 8
"""Upper limit of workgroups with one vector each."""


def next_pow2(value: int) -> int:
    """MIOpen's ``nextPow2``: 2 for 1, else the next power of two that is not below ``value``."""
    return 2 if value == 1 else 1 << (value - 1).bit_length()


def batching(channels: int) -> tuple[int, int, int]:
    """(vectors per workgroup, work-items per vector, channels per work-item) of a softmax over channels."""
    num_batch = next_pow2(GROUP // channels) if channels < GROUP else 1
    if num_batch == 1:
        return 1, GROUP, -(-channels // GROUP)
    batch_size = GROUP // num_batch
    return num_batch, batch_size, next_pow2(channels // batch_size) if channels > batch_size else 1


@lru_cache(maxsize=4096)
def arguments(channels: int, forward: bool) -> str:
    """Compile arguments, which depend only on the number of channels."""
    num_batch, batch_size, u_batch_size = batching(channels)
    batch = "" if num_batch == 1 else f" -DBATCH_SIZE={batch_size} -DU_BATCH_SIZE={u_batch_size}"
    packed = ("INPUT", "OUTPUT") if forward else ("OUTPUT", "DOUTPUT", "DINPUT")
    return (
        f" -DNUM_BATCH={num_batch}{batch}{FP32} -DUSE_SOFTMAX_ACCURATE=1 -DUSE_SOFTMAX_MODE_CHANNEL=1"
        f" -DRUN_FORWARD={int(forward)}{''.join(f' -DIS_{name}_PACKED=1' for name in packed)}"
    )


def launches(work: LayerPass) -> tuple[Launch, ...]:
    """One launch: a workgroup per vector, or per ``NUM_BATCH`` vectors when they are short."""
    n, c, h, w = work.layer.input
    vectors, num_batch = n * h * w, batching(c)[0]
    workgroups = min(vectors, MOST_WORKGROUPS) if num_batch == 1 else -(-vectors // num_batch)
    memory = (work.x, work.y) if work.forward else (work.y, work.dy, work.dx)
    args = (
        *memory,
        *ints(vector_size=c, grid_size=vectors, spatial_dim=h * w, input_h=h, input_w=w),
        *ints(n_stride=c * h * w, c_stride=h * w, h_stride=w) * len(memory),
        *ints(offset=0) * len(memory),
        *floats(alpha=1.0, beta=0.0),
    )
    kernel = "SoftmaxForward" if work.forward else "SoftmaxBackward"
    compiled = arguments(c, work.forward)
    return (
        work.launch("MIOpenSoftmax.cl", compiled, kernel, (workgroups * GROUP, 1, 1), (GROUP, 1, 1), args),
    )
