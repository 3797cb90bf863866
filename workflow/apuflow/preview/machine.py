"""The machine that ``apu_se.py`` builds, as the few numbers that the timing model needs.

Options keep their command-line names. Source: gem5 v23.0.1.0 ``configs/example/apu_se.py``,
``configs/ruby/GPU_VIPER.py``, ``configs/common/GPUTLBOptions.py``, ``src/gpu-compute/GPU.py``; for the DRAM
of ``--mem-type`` ``src/mem/DRAMInterface.py`` (timing parameters of each interface).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.core.engines import PREVIEW_RELEASE
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.core.gpus import gpu
from apuflow.core.options import Options, column
from apuflow.core.scalar import Scalar
from apuflow.core.units import clock_hertz, size_bytes
from apuflow.preview.columns import Numbered, Rows, by_identity, by_value, together
from apuflow.preview.kernels.facts import is_vega

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
        vega: it runs kernels that are compiled for gfx9, which access global memory by ``global_load`` and
            ``global_store``; those for gfx8 take FLAT instructions, which ``s_waitcnt`` counts as LDS
            accesses, too.
        matrix_time: a matrix instruction holds its SIMD unit's matrix core for the cycles of AMD's manuals;
            else the unit alone, for one issue period.
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
    l3_tlb_entries: int
    l1_tlb_cycles: int
    l2_tlb_cycles: int
    l3_tlb_cycles: int
    walk_cycles: int
    dram: Dram
    vega: bool = False
    release: str = PREVIEW_RELEASE
    matrix_time: bool = False


NUMBERS = tuple(name for name in GpuModel._fields if name not in ("dram", "vega", "release", "matrix_time"))
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
    "HBM_1000_4H_1x128": Dram(4.0, 15.0, 15.0, 160.0, 3900.0, 10.0, 4.0),
    "HBM_2000_4H_1x64": Dram(4.0, 12.0, 18.0, 220.0, 3900.0, 4.0, 18.0),
}
"""gem5's memory types: ``tBURST`` of 64 bytes, ``tRCD``, ``tCL``, ``tRFC``, ``tREFI``, ``tWTR``, ``tRTW`` of
``src/mem/DRAMInterface.py`` (v24.1). ``HBM_2000_4H_1x64`` moves 32 bytes in a burst, so a line takes two; the
longer delays inside a bank group (``tCCD_L``, ``tWTR_L``) are not modelled. No run with HBM was recorded: the
rows are flagged ``unmeasured``."""


def memory_name(channel: Dram) -> str:
    """The gem5 memory type with this timing."""
    return next(name for name, timing in _TYPES.items() if timing == channel)


def dram(name: Scalar | None, key: str = "mem-type") -> Dram:
    """Timing of a gem5 memory type.

    Raises:
        NotModelled: the type has another burst length, channel width or row policy than those known here.
    """
    if str(name) not in _TYPES:
        raise NotModelled(
            "the preview does not model this memory type",
            key=key,
            value=name,
            remedy=f"use {', '.join(_TYPES)}, or the gem5 or gem5-kernels engine",
        )
    return _TYPES[str(name)]


def _vega(value: Scalar | None, key: str) -> bool:
    """``GpuModel.vega`` of a GPU as gem5 is told it; see ``is_vega``, and ``gpu`` for a name that is none."""
    return is_vega(gpu(gpu(str(value), key).told).isa, key, str(value))


_READ: Final[Mapping[str, tuple[str, Callable[[Scalar | None, str], Any]]]] = {
    "num-compute-units": ("compute_units", _number),
    "simds-per-cu": ("simds", _number),
    "wfs-per-simd": ("slots_per_simd", _number),
    "issue-period": ("issue_period", _number),
    "vreg-file-size": ("vgprs", _number),
    "sreg-file-size": ("sgprs", _number),
    "vreg-min-alloc": ("register_block", _number),
    "lds-size": ("lds_bytes", _number),
    "ldsBankConflictPenalty": ("lds_penalty", _number),
    "max-cu-tokens": ("tokens", _number),
    "mem-req-latency": ("request_cycles", _number),
    "mem-resp-latency": ("response_cycles", _number),
    "scalar-mem-req-latency": ("scalar_request_cycles", _number),
    "scalar-mem-resp-latency": ("scalar_response_cycles", _number),
    "gpu-clock": ("gpu_ns", _clock_ns),
    "ruby-clock": ("ruby_ns", _clock_ns),
    "num-tccs": ("tccs", _number),
    "tcc-size": ("tcc_bytes", _bytes),
    "tcp-size": ("tcp_bytes", _bytes),
    "l3_size": ("l3_bytes", _bytes),
    "l2_size": ("cpu_l2_bytes", _bytes),
    "bw-scalor": ("scalor", _number),
    "TCC_latency": ("tcc_latency", _number),
    "gpu-to-dir-latency": ("to_directory", _number),
    "num-dirs": ("directories", _number),
    "mem-type": ("dram", dram),
    "cu-per-sqc": ("compute_units_per_sqc", _number),
    "sqc-size": ("sqc_bytes", _bytes),
    "L3TLBentries": ("l3_tlb_entries", _number),
    "L1AccessLatency": ("l1_tlb_cycles", _number),
    "L2AccessLatency": ("l2_tlb_cycles", _number),
    "L3AccessLatency": ("l3_tlb_cycles", _number),
    "L3MissLatency": ("walk_cycles", _number),
    "gfx-version": ("vega", _vega),
}
"""Options that the model reads: the field that each is (``scalor`` goes into others), and how it is read."""
NO_INFLUENCE: Final = (
    *("TCP_latency", "mandatory_queue_latency", "cpu-to-dir-latency", "cu-per-scalar-cache", "L1TLBentries"),
)
"""Options of the GPU that change nothing in the model, though they do on gem5."""
OPTIONS: Final = (*_READ, *NO_INFLUENCE)
"""Options that tell GPUs apart."""


def _refuse(key: str, value: Scalar | None) -> None:
    """Refuse a value of a ``FIXED`` option that the model does not have."""
    allowed = FIXED[key]
    if value is not None and value not in allowed and str(value) not in map(str, allowed):
        raise NotModelled(
            "the preview does not model this option value",
            key=key,
            value=value,
            remedy=f"use {' or '.join(map(str, allowed))}, or the gem5 or gem5-kernels engine",
        )


def check(options: Mapping[str, Scalar | None], defaults: Mapping[str, Scalar | None]) -> None:
    """Refuse options of which no machine can be built, with the errors of ``machines``."""
    for key in FIXED:
        _refuse(key, options.get(key))
    for key, (_, read) in _READ.items():
        read(options.get(key, defaults.get(key)), key)


class Machines(NamedTuple):
    """Machines as columns.

    Attributes:
        numbers: by field of ``GpuModel``, the number, flag or name of each different machine.
        drams: of each of them.
        rows: of each machine that was asked for, its number among the different ones.
    """

    numbers: dict[str, NDArray[Any]]
    drams: Numbered[Dram]
    rows: Rows


def machines(
    options: Sequence[Mapping[str, Scalar | None]],
    barrier_slots: Sequence[int],
    releases: Sequence[str],
    defaults: Mapping[str, Scalar | None],
    matrix_times: Sequence[bool] | None = None,
) -> Machines:
    """Build machines. Those that are built alike are one.

    Args:
        options: of ``apu_se.py``, of each machine, named as on the command line without dashes. Those without
            influence on the GPU's timing are not read.
        barrier_slots: ``ComputeUnit.num_barrier_slots`` of each: 4 in v23.0.1.0; a release's file says it
            (there is no option for it).
        releases: the gem5 release of each.
        defaults: of every option that is read, for those left out (older releases lack some).
        matrix_times: of each, whether matrix instructions take their time; None: they never do.

    Raises:
        NotModelled: an option has a value whose mechanism the model does not have.
        ConfigError: a value is no number, size or clock.
    """
    asked, slots = by_identity(options), by_value(barrier_slots)
    read = _read(list(map(Options.of, asked.different)), defaults)
    columns = {field: given._replace(rows=given.rows[asked.rows]) for field, given in read}
    columns |= {"barrier_slots": slots, "release": by_value(releases)}
    columns["matrix_time"] = by_value(list(matrix_times or [False] * len(options)))
    first, rows = together([given.rows for given in columns.values()], len(options))
    columns = {field: given._replace(rows=given.rows[first]) for field, given in columns.items()}
    drams = columns.pop("dram")
    numbers = {field: given.values() for field, given in columns.items()}
    scalor, units = numbers.pop("scalor"), numbers["compute_units"]
    # GPU_VIPER.py sets the link width to 16*CUs*K and ignores tcc-size for 128 kB a CU. A cache uses as many
    # of its sets as the bits of an address can number (CacheMemory.cc, floorLog2).
    numbers["link_bytes"] = np.where(scalor, 16.0 * units * scalor, 8.0)
    numbers["tcc_bytes"] = np.where(scalor, 128 * 1024 * 2 ** np.floor(np.log2(units)), numbers["tcc_bytes"])
    return Machines(numbers, drams, rows)


def _read(
    asked: Sequence[Options], defaults: Mapping[str, Scalar | None]
) -> Iterator[tuple[str, Numbered[Any]]]:
    """Fields of different options. Each option is read once for each value that it has."""
    bases = by_identity([options.base for options in asked])
    named = set().union(*(options.changed for options in asked))
    for key in FIXED:
        values = column(asked, key) if key in named else [base.get(key) for base in bases.different]
        for value in dict.fromkeys(values):
            _refuse(key, value)
    for key, (field, read) in _READ.items():
        standard = defaults.get(key)
        if key in named:
            given = by_value(column(asked, key, standard))
        else:
            given = Numbered([base.get(key, standard) for base in bases.different], bases.rows)
        yield field, Numbered([read(value, key) for value in given.different], given.rows)


def machine(
    options: Mapping[str, Scalar | None],
    defaults: Mapping[str, Scalar | None],
    *,
    barrier_slots: int = 4,
    release: str = PREVIEW_RELEASE,
) -> GpuModel:
    """Build one machine (see ``machines``)."""
    built = machines([options], [barrier_slots], [release], defaults)
    numbers = {field: values.tolist()[0] for field, values in built.numbers.items()}
    return GpuModel(dram=built.drams.different[0], **numbers)
