"""Which GPU a block of statistics is about: exactly one can be read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.checks import ACTIVE

_ROOT = "system."


def gpu_name(rows: Iterable[str], file: str | Path | None) -> str:
    """The name of the GPU whose rows these are, such as ``system.cpu3``.

    Raises:
        AnalysisError: there is none, there are several, or it belongs to a board of gem5's standard library,
            whose other objects have other names than those of configs/ruby/GPU_VIPER.py.
    """
    names = [name.removesuffix(ACTIVE) for name in rows if name.endswith(ACTIVE)]
    if not names:
        raise AnalysisError(
            "no GPU in these statistics",
            file=file,
            key=f"*{ACTIVE}",
            remedy="give the stats.txt of a run of apu_se.py",
        )
    if len(names) > 1:
        raise AnalysisError(
            f"these statistics hold {len(names)} GPUs: counters are read of one",
            file=file,
            key=f"*{ACTIVE}",
            value=", ".join(names),
            remedy="simulate one GPU",
        )
    if not names[0].startswith(_ROOT):
        raise AnalysisError(
            "the GPU's caches and memory have names that are not known",
            file=file,
            key=f"*{ACTIVE}",
            value=names[0],
            remedy="give the statistics of apu_se.py or of configs/example/gpufs: their GPU is system.cpuN",
        )
    return names[0]
