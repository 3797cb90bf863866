"""Ask gem5's GPU model from Python: ``apuflow.evaluate`` gives the preview's answer as a pandas table.

Example::

    import apuflow

    table = apuflow.evaluate("conv_fwd", {"num-compute-units": [4, 16, 64]}, layer={"n": [1, 10]})
    table[["num_compute_units", "layer.n", "gpu_cycles", "ipc", "bound"]]
    apuflow.figures.make("speedup", table)

``evaluate(workload, options, layer)`` takes names of workloads (``apuflow list workloads``), options of
``apu_se.py`` (``apuflow list options``) and layer keys (``apuflow list keys``); a list varies a value.
``search`` finds the best machines, ``read_results`` reads tables that the workflow made, ``sweep`` and
``points`` say what a sweep runs, ``figures`` draws any table.
``help(apuflow.evaluate)`` has every argument, `apuflow list metrics` every column.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
"""Of this program; every record of a run holds it."""

_FACE = ("Sweep", "evaluate", "points", "read_results", "search", "sweep")
__all__ = ["__version__", "figures", *_FACE]


def __getattr__(name: str) -> Any:
    """What stands in ``__all__``, loaded when it is first used: a job has no use for it."""
    if name in _FACE:
        return getattr(importlib.import_module("apuflow.ask.api"), name)
    if name == "figures":
        return importlib.import_module("apuflow_analysis.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
