"""Time of a ring all-reduce in an iteration on several devices, by formula.

A ring of p devices reduces n bytes in p - 1 steps of n/p bytes with an addition each, and gathers them in p -
1 more steps: ``T = 2 (p-1) (latency + n / (p B)) + (p-1)/p n / R``. B is the bandwidth of one link, R the
bytes that a device adds per second. Source: Patarasuk and Yuan, "Bandwidth
optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69 (2009);
DeepBench's README defines bandwidth as bytes over time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from apuflow.core.errors import ConfigError

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Ring:
    """Devices in a ring.

    Attributes:
        devices: their number.
        bandwidth: bytes per second of one link, in one direction.
        latency: seconds of one step without its bytes.
        reduce_rate: bytes per second that a device adds; infinite: the sum costs nothing.
    """

    devices: int
    bandwidth: float
    latency: float = 0.0
    reduce_rate: float = math.inf

    def __post_init__(self) -> None:
        if self.devices < 1:
            raise ConfigError("a ring without devices", key="devices", value=self.devices, remedy="1 or more")
        for name in ("bandwidth", "reduce_rate"):
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError("a rate above 0 is expected", key=name, value=value, remedy="such as 16e9")
        if not 0 <= self.latency < math.inf:
            raise ConfigError(
                "a time of 0 or more is expected", key="latency", value=self.latency, remedy="such as 1e-6"
            )

    def seconds(self, size: float) -> float:
        """Time to all-reduce ``size`` bytes."""
        if self.devices == 1:
            return 0.0
        steps = self.devices - 1
        moved = 2 * steps * (self.latency + size / (self.devices * self.bandwidth))
        return moved + steps / self.devices * size / self.reduce_rate

    def bus_bandwidth(self, size: float) -> float:
        """Bytes per second that each link carries during an all-reduce; 0 for one device."""
        if self.devices == 1:
            return 0.0
        return 2 * (self.devices - 1) / self.devices * size / self.seconds(size)


@dataclass(frozen=True)
class ParallelIteration:
    """An iteration on several devices that share the gradients of all weights.

    Attributes:
        forward, backward, update: seconds on one device.
        communication: seconds of the all-reduce.
    """

    forward: float
    backward: float
    update: float
    communication: float

    @property
    def apart(self) -> float:
        """Seconds if the all-reduce begins after the backward pass."""
        return self.forward + self.backward + self.communication + self.update

    @property
    def overlapped(self) -> float:
        """Seconds if it overlaps the backward pass: the longer of both (best case)."""
        return self.forward + max(self.backward, self.communication) + self.update
