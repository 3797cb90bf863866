"""apuflow: describe and run DNN experiments on gem5's GCN3 APU model.

In Python: ``evaluate`` asks the preview, ``Sweep``, ``sweep`` and ``points`` say what a sweep runs,
``read_results`` reads what the workflow made, ``figures`` draws it (``apuflow.study.face``,
``apuflow_analysis.figures``).
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
"""Of this program; every record of a run holds it."""

_FACE = ("Sweep", "evaluate", "points", "read_results", "sweep")
__all__ = ["__version__", "figures", *_FACE]


def __getattr__(name: str) -> Any:
    """What stands in ``__all__``, loaded when it is first used: a job has no use for it."""
    if name in _FACE:
        return getattr(importlib.import_module("apuflow.study.face"), name)
    if name == "figures":
        return importlib.import_module("apuflow_analysis.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
