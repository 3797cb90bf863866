"""apuflow: describe and run DNN experiments on gem5's GCN3 APU model.

In Python: ``evaluate`` asks the preview, ``Sweep``, ``sweep`` and ``points`` say what a sweep runs,
``read_results`` reads what the workflow made, ``figures`` draws it (``apuflow.study.face``,
``analysis.figures``).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
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
        return importlib.import_module("analysis.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _CarriedAnalysis:
    """Finds the package ``analysis`` where a wheel has it: below this one, at no place of its own."""

    place = Path(__file__).with_name("project_files") / "analysis"

    @classmethod
    def find_spec(cls, name: str, *_: object) -> ModuleSpec | None:
        if name != cls.place.name:
            return None
        return importlib.util.spec_from_file_location(
            name, cls.place / "__init__.py", submodule_search_locations=[str(cls.place)]
        )


if _CarriedAnalysis.place.is_dir():
    sys.meta_path.insert(0, _CarriedAnalysis)
