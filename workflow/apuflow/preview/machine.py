"""The machine that ``apu_se.py`` builds, as the few numbers that the timing model needs.

Options keep their command-line names. Source: gem5 v23.0.1.0 ``configs/example/apu_se.py``,
``configs/ruby/GPU_VIPER.py``, ``configs/common/GPUTLBOptions.py``, ``src/gpu-compute/GPU.py``; for the DRAM
of ``--mem-type`` ``src/mem/DRAMInterface.py`` (timing parameters of each interface).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from apuflow.core.errors import ConfigError, NotModelled
from apuflow.core.gpus import gpu
from apuflow.core.preview_constants import RECORDED, Calibration
from apuflow.core.scalar import Scalar
from apuflow.core.units import clock_hertz, size_bytes

OPTIONS = (
    "num-compute-units",
    "simds-per-cu",
    "wfs-per-simd",
    "wf-size",
    "issue-period",
    "vreg-file-size",
    "sreg-file-size",
    "vreg-min-alloc",
    "lds-size",
    "ldsBankConflictPenalty",
    "max-cu-tokens",
    "mem-req-latency",
    "mem-resp-latency",
    "scalar-mem-req-latency",
    "scalar-mem-resp-latency",
    "gpu-clock",
    "ruby-clock",
    "num-tccs",
    "tcc-size",
    "tcp-size",
    "l3_size",
    "l2_size",
    "bw-scalor",
    "TCP_latency",
    "TCC_latency",
    "mandatory_queue_latency",
    "gpu-to-dir-latency",
    "cpu-to-dir-latency",
    "num-dirs",
    "mem-type",
    "cacheline_size",
    "cu-per-sqc",
    "sqc-size",
    "cu-per-scalar-cache",
    "TLB-config",
    "L1TLBentries",
    "L3TLBentries",
    "L1AccessLatency",
    "L2AccessLatency",
    "L3AccessLatency",
    "L3MissLatency",
    "gfx-version",
)
"""Options that the model reads."""

FIXED: dict[str, tuple[Scalar, ...]] = {
    "wf-size": (64,),
    "cacheline_size": (64,),
    "TLB-config": ("perCU",),
    "network": ("simple",),
    "topology": ("Crossbar",),
    "dgpu": (False,),
    "WB_L1": (False,),
    "WB_L2": (False,),
    "noL1": (False,),
    "use-L3-on-WT": (False,),
    "FunctionalTLB": (False,),
    "reg-alloc-policy": ("dynamic",),
    "m-type": (5,),
    "tot-L1TLB-size": (0,),
    "L1DisableCoalescing": (False,),
    "L2DisableCoalescing": (False,),
    "L3DisableCoalescing": (False,),
}
"""Options whose other values change mechanisms that the model does not have."""


LDS_BUS = 8.0
"""Cycles that an LDS access holds the bus: 64 lanes of 4 B over 32 B; the bank accesses come on top, and
accesses follow each other strictly (``LdsState::processPacket``)."""


@lru_cache
def _clock_ns(value: Scalar | None, key: str) -> float:
    """Period in ns of a clock."""
    hertz = clock_hertz(str(value))
    if hertz is None:
        raise ConfigError("not a clock", key=key, value=value, remedy="write it like 1GHz or 500MHz")
    return 1e9 / hertz


@lru_cache
def _bytes(value: Scalar | None, key: str) -> int:
    """Bytes of a size; a plain number is bytes, too."""
    text = str(value)
    size = int(text) if text.isdecimal() else size_bytes(text)
    if not size:
        raise ConfigError("not a memory size", key=key, value=value, remedy="write it like 16kB or 1MB")
    return size


class GpuModel(NamedTuple):
    """What the model knows of the GPU. Times named ``*_ns``; latencies in GPU cycles where named so.

    Attributes:
        flat: global memory is accessed by FLAT instructions, which ``s_waitcnt`` counts as LDS accesses, too;
            Vega's compilers take ``global_load`` and ``global_store``.
    """

    compute_units: int
    simds: int
    slots_per_simd: int
    issue_period: int
    vgprs: int
    sgprs: int
    register_block: int
    lds_bytes: int
    lds_penalty: int
    barrier_slots: int
    tokens: int
    request_cycles: int
    response_cycles: int
    scalar_request_cycles: int
    scalar_response_cycles: int
    gpu_ns: float
    ruby_ns: float
    tccs: int
    tcc_bytes: int
    tcp_bytes: int
    l3_bytes: int
    cpu_l2_bytes: int
    link_bytes: float
    tcc_latency: int
    to_directory: int
    directories: int
    compute_units_per_sqc: int
    sqc_bytes: int
    l1_tlb_entries: int
    l3_tlb_entries: int
    l1_tlb_cycles: int
    l2_tlb_cycles: int
    l3_tlb_cycles: int
    walk_cycles: int
    dram: Dram
    flat: bool = True
    calibration: Calibration = RECORDED

    @property
    def slots(self) -> int:
        """Wavefront slots of a compute unit."""
        return self.simds * self.slots_per_simd

    @property
    def page_walk_cycles(self) -> int:
        """GPU cycles of a translation that no TLB has."""
        return self.l1_tlb_cycles + self.l2_tlb_cycles + self.l3_tlb_cycles + self.walk_cycles + 3


NUMBERS = tuple(name for name in GpuModel._fields if name not in ("dram", "flat", "calibration"))
"""Fields of the machine that are numbers."""
_MAY_BE_ZERO = {"bw-scalor", "scalar-mem-resp-latency", "mem-resp-latency", "mem-req-latency"}


def _number(value: Scalar | None, key: str) -> int:
    if type(value) is int and value > 0:
        return value
    try:
        number = int(str(value))
    except ValueError:
        raise ConfigError("not a whole number", key=key, value=value, remedy="give an integer") from None
    if number < 1 and key not in _MAY_BE_ZERO:
        raise ConfigError("must be at least 1", key=key, value=value, remedy="give a positive integer")
    return number


_WHOLE = {
    "compute_units": "num-compute-units",
    "simds": "simds-per-cu",
    "slots_per_simd": "wfs-per-simd",
    "issue_period": "issue-period",
    "vgprs": "vreg-file-size",
    "sgprs": "sreg-file-size",
    "register_block": "vreg-min-alloc",
    "lds_bytes": "lds-size",
    "lds_penalty": "ldsBankConflictPenalty",
    "tokens": "max-cu-tokens",
    "request_cycles": "mem-req-latency",
    "response_cycles": "mem-resp-latency",
    "scalar_request_cycles": "scalar-mem-req-latency",
    "scalar_response_cycles": "scalar-mem-resp-latency",
    "tccs": "num-tccs",
    "tcc_latency": "TCC_latency",
    "to_directory": "gpu-to-dir-latency",
    "directories": "num-dirs",
    "compute_units_per_sqc": "cu-per-sqc",
    "l1_tlb_entries": "L1TLBentries",
    "l3_tlb_entries": "L3TLBentries",
    "l1_tlb_cycles": "L1AccessLatency",
    "l2_tlb_cycles": "L2AccessLatency",
    "l3_tlb_cycles": "L3AccessLatency",
    "walk_cycles": "L3MissLatency",
}
"""Fields of the machine that are whole numbers, and the options that they are."""
_SIZES = {
    "tcp_bytes": "tcp-size",
    "l3_bytes": "l3_size",
    "cpu_l2_bytes": "l2_size",
    "sqc_bytes": "sqc-size",
}
"""Those that are sizes."""


@lru_cache(maxsize=65536)
def _machine(values: tuple[Scalar | None, ...], barrier_slots: int, calibration: Calibration) -> GpuModel:
    """The machine of the values of ``OPTIONS``."""
    options = dict(zip(OPTIONS, values, strict=True))
    whole = {field: _number(options[key], key) for field, key in _WHOLE.items()}
    scalor = _number(options["bw-scalor"], "bw-scalor")
    # bw-scalor: GPU_VIPER.py sets the link width to 16*CUs*K and ignores tcc-size for 128 kB a CU.
    tcc = 128 * 1024 * whole["compute_units"] if scalor else _bytes(options["tcc-size"], "tcc-size")
    return GpuModel(
        **whole,
        **{field: _bytes(options[key], key) for field, key in _SIZES.items()},
        barrier_slots=barrier_slots,
        gpu_ns=_clock_ns(options["gpu-clock"], "gpu-clock"),
        ruby_ns=_clock_ns(options["ruby-clock"], "ruby-clock"),
        tcc_bytes=tcc,
        link_bytes=16.0 * whole["compute_units"] * scalor if scalor else 8.0,
        dram=dram(str(options["mem-type"])),
        flat=gpu(str(options["gfx-version"])).build_target == "GCN3_X86",
        calibration=calibration,
    )


@lru_cache
def _refuse_others(values: tuple[Scalar | None, ...]) -> None:
    """Refuse values of ``FIXED`` options that the model does not have."""
    for (key, allowed), value in zip(FIXED.items(), values, strict=True):
        if value is not None and value not in allowed and str(value) not in map(str, allowed):
            raise NotModelled(
                "the preview does not model this option value",
                key=key,
                value=value,
                remedy=f"use {' or '.join(map(str, allowed))}, or the gem5 or gem5-kernels engine",
            )


def machine(
    options: Mapping[str, Scalar | None],
    defaults: Mapping[str, Scalar | None],
    *,
    barrier_slots: int = 4,
    calibration: Calibration = RECORDED,
) -> GpuModel:
    """Build the machine from ``apu_se.py`` options.

    Args:
        options: option names as on the command line without dashes. Options without influence on the GPU's
            timing are not read.
        defaults: of every option in ``OPTIONS``, for those left out (older releases lack some).
        barrier_slots: ``ComputeUnit.num_barrier_slots``: 4 in v23.0.1.0; a release's file says it
            (there is no option for it).
        calibration: the constants of its release.

    Raises:
        NotModelled: an option has a value whose mechanism the model does not have.
        ConfigError: a value is no number, size or clock.
    """
    _refuse_others(tuple(map(options.get, FIXED)))
    values = tuple(map(options.get, OPTIONS, map(defaults.get, OPTIONS)))
    return _machine(values, barrier_slots, calibration)


WRITES_PER_SWITCH = 18.0
"""``MemCtrl.min_writes_per_switch`` is 16; gem5's runs show 17 to 19 writes between turnarounds."""


class Dram(NamedTuple):
    """One channel. Times in ns; ``burst_ns`` moves 64 bytes."""

    burst_ns: float
    rcd_ns: float
    cl_ns: float
    refresh_ns: float
    refresh_interval_ns: float
    write_to_read_ns: float
    read_to_write_ns: float

    @property
    def peak_bytes_per_ns(self) -> float:
        """Bytes that the bus moves in a ns when it is never idle."""
        return 64.0 / self.burst_ns

    @property
    def closed_access_ns(self) -> float:
        """A read of an idle bank: activate, column access, transfer."""
        return self.rcd_ns + self.cl_ns + self.burst_ns


_TYPES = {
    "DDR3_1600_8x8": Dram(5.0, 13.75, 13.75, 260.0, 7800.0, 7.5, 2.5),
    "DDR3_2133_8x8": Dram(3.752, 13.09, 13.09, 260.0, 7800.0, 7.5, 1.876),
}


def memory_name(channel: Dram) -> str:
    """The gem5 memory type with this timing."""
    return next(name for name, timing in _TYPES.items() if timing == channel)


def dram(name: str) -> Dram:
    """Timing of a gem5 memory type.

    Raises:
        NotModelled: the type has another burst length, channel width or row policy than those known here.
    """
    if name not in _TYPES:
        raise NotModelled(
            "the preview does not model this memory type",
            key="mem-type",
            value=name,
            remedy=f"use {', '.join(_TYPES)}, or the gem5 or gem5-kernels engine",
        )
    return _TYPES[name]
