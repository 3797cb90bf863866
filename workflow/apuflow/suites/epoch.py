"""Time and cost of one epoch from one simulated iteration: DAWNBench's and MLPerf's sizes, not their results.

``T = ceil(examples / (n devices)) T_iteration``. It excludes input data, evaluation, start-up, and the number
of epochs of a training.
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
class Dataset:
    """Examples of a data set.

    Attributes:
        train: examples of an epoch.
        used_by: benchmarks that use it.
        source: origin of the number.
    """

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
    """An epoch of a data set.

    Attributes:
        iterations: of all devices together.
        seconds: of all iterations.
        cost: in the currency of the price; None without a price.
    """

    iterations: int
    seconds: float
    cost: float | None


def epoch(
    examples: int, batch: int, devices: int, iteration_seconds: float, price_per_hour: float | None = None
) -> Epoch:
    """An epoch of ``examples`` with ``batch`` per device and iteration.

    Args:
        price_per_hour: of all devices together.

    Raises:
        ConfigError: an invalid number.
    """
    for name, value in (("examples", examples), ("batch", batch), ("devices", devices)):
        if value < 1:
            raise ConfigError("1 or more is expected", key=name, value=value, remedy="give a larger number")
    if not 0 < iteration_seconds < math.inf:
        raise ConfigError(
            "the iteration has no time", key="iteration", value=iteration_seconds, remedy="run it first"
        )
    iterations = -(-examples // (batch * devices))
    seconds = iterations * iteration_seconds
    cost = None if price_per_hour is None else seconds / 3600 * price_per_hour
    return Epoch(iterations, seconds, cost)
