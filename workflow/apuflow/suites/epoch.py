"""Time of a ring all-reduce, and time and cost of an epoch, both by formula from one simulated iteration.

A ring of p devices reduces n bytes in p - 1 steps of n/p bytes with an addition each, and gathers them in p -
1 more steps: ``T = 2 (p-1) (latency + n / (p B)) + (p-1)/p n / R``. B is the bandwidth of one link, R the
bytes that a device adds per second. Source: Patarasuk and Yuan, "Bandwidth
optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69 (2009);
DeepBench's README defines bandwidth as bytes over time.

An epoch takes ``T = ceil(examples / (n devices)) T_iteration``, without input data, evaluation and start-up.
A training's number of epochs is not known. Sizes are DAWNBench's and MLPerf's, results are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from apuflow.core.errors import ConfigError

EXTRAPOLATED: Final = "extrapolated from one simulated iteration"


@dataclass(frozen=True)
class Ring:
    """Devices in a ring.

    Attributes:
        bandwidth: bytes per second of one link, in one direction.
        latency: seconds of one step without its bytes.
        reduce_rate: bytes per second that a device adds; infinite: the sum costs nothing.
    """

    devices: int
    bandwidth: float
    latency: float = 0.0
    reduce_rate: float = math.inf

    def __post_init__(self) -> None:
        _require_one(devices=self.devices)
        for name in ("bandwidth", "reduce_rate"):
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError("a rate above 0 is expected", key=name, value=value, remedy="such as 16e9")
        if not 0 <= self.latency < math.inf:
            what = "a time of 0 or more is expected"
            raise ConfigError(what, key="latency", value=self.latency, remedy="such as 1e-6")

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
    """Seconds of an iteration on several devices that share the gradients of all weights, by part."""

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


@dataclass(frozen=True)
class Dataset:
    """A data set: examples of an epoch, benchmarks that use it, origin of the number."""

    train: int
    used_by: str
    source: str


_RULES = "mlcommons/training_policies d73e20f: training_rules.adoc"
DATASETS: Final[Mapping[str, Dataset]] = MappingProxyType(
    {
        "imagenet": Dataset(1_281_167, "DAWNBench ImageNet; MLPerf ResNet-50", f"ILSVRC 2012; {_RULES}"),
        "cifar10": Dataset(50_000, "DAWNBench CIFAR-10", "the data set's own page"),
        "coco": Dataset(117_266, "MLPerf Mask R-CNN, SSD", "COCO 2017, images with annotations; from memory"),
        "squad": Dataset(87_599, "DAWNBench SQuAD", "SQuAD 1.1, questions; catalogue of TensorFlow Datasets"),
        "wmt16": Dataset(4_500_000, "MLPerf Transformer, GNMT", "about 4.5 million pairs; from memory"),
        "librispeech": Dataset(
            28_539 + 104_014 + 148_688, "MLPerf RNN-T; DeepSpeech", "960 hours, utterances; its data card"
        ),
        "wikipedia": Dataset(156_725_653, "MLPerf BERT", f"2020-01-01, sequences of 512 tokens; {_RULES}"),
        "criteo": Dataset(4_195_197_692, "MLPerf DLRM", f"Criteo Terabyte, samples; {_RULES}"),
    }
)


@dataclass(frozen=True)
class Epoch:
    """An epoch: iterations of all devices together, seconds, and cost (None without a price)."""

    iterations: int
    seconds: float
    cost: float | None


def epoch(
    examples: int, batch: int, devices: int, iteration_seconds: float, price_per_hour: float | None = None
) -> Epoch:
    """An epoch of ``examples`` with ``batch`` per device and iteration; the price is that of all devices.

    Raises ConfigError: an invalid number.
    """
    _require_one(examples=examples, batch=batch, devices=devices)
    if not 0 < iteration_seconds < math.inf:
        what = "the iteration has no time"
        raise ConfigError(what, key="iteration", value=iteration_seconds, remedy="run it first")
    iterations = -(-examples // (batch * devices))
    seconds = iterations * iteration_seconds
    cost = None if price_per_hour is None else seconds / 3600 * price_per_hour
    return Epoch(iterations, seconds, cost)


def _require_one(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise ConfigError("1 or more is expected", key=name, value=value, remedy="give a larger number")
