"""Runs inside gem5 in place of apu_se.py, and runs that: gem5 keeps its lists of statistics.

    gem5.opt ... quick_statistics.py apu_se.py [options of apu_se.py]

For each block that it writes, gem5 asks every group twice for its groups and its statistics, and makes new
Python objects of them, 260,000 at 64 compute units: more than half of the time of a block
(``src/python/m5/stats/__init__.py``, ``src/python/pybind11/stats.cc``). Once statistics are enabled none can
be added, so the first answers are kept.

gem5's own image has Python 3.8: nothing newer here.
"""

import functools
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import _m5.stats
import m5.stats


def main() -> None:
    """Run apu_se.py as gem5 itself runs a script (``src/python/m5/main.py``)."""
    del sys.argv[0]
    script = sys.argv[0]
    sys.path[0] = str(Path(script).parent)
    enable: Callable[[], None] = m5.stats.enable

    def enable_and_keep() -> None:
        group = _m5.stats.Group
        for name in ("getStats", "getStatGroups"):
            kept = functools.lru_cache(maxsize=None)(getattr(group, name))
            setattr(group, name, kept)
        enable()

    m5.stats.enable = enable_and_keep
    runpy.run_path(script, run_name="__m5_main__")


main()
