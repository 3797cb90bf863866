"""DRAM timing of ``--mem-type``.

Source: gem5 v23.0.1.0 ``src/mem/DRAMInterface.py`` (timing parameters of each interface).
"""

from __future__ import annotations

from dataclasses import dataclass

from apuflow.core.errors import NotModelled


@dataclass(frozen=True, slots=True)
class Dram:
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
        return 64.0 / self.burst_ns

    @property
    def closed_access_ns(self) -> float:
        """A read of an idle bank: activate, column access, transfer."""
        return self.rcd_ns + self.cl_ns + self.burst_ns

    def busy_ns(self, reads: float, writes: float) -> float:
        """Bus time of a mix of bursts: transfers, refresh, and a turnaround to writes and back per batch
        of writes (``min_writes_per_switch`` = 16, a little more in runs)."""
        refresh = 1.0 + self.refresh_ns / self.refresh_interval_ns
        turnaround = self.read_to_write_ns + self.write_to_read_ns + self.cl_ns + self.burst_ns
        return (reads + writes) * self.burst_ns * refresh + writes / WRITES_PER_SWITCH * turnaround


WRITES_PER_SWITCH = 17.5
"""``MemCtrl.min_writes_per_switch`` is 16; gem5's runs show 17 to 19 writes between turnarounds."""


_TYPES = {
    "DDR3_1600_8x8": Dram(5.0, 13.75, 13.75, 260.0, 7800.0, 7.5, 2.5),
    "DDR3_2133_8x8": Dram(3.752, 13.09, 13.09, 260.0, 7800.0, 7.5, 1.876),
}


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
