"""Runs inside gem5 in place of apu_se.py, and runs that: gem5 writes no statistics.

    gem5.opt ... without_statistics.py apu_se.py [options of apu_se.py]

From v24.0 apu_se.py writes a block behind each kernel, which takes longer than the kernels of this suite.
"""

import runpy
import sys
from pathlib import Path

import m5.stats


def nothing(*_arguments: object, **_names: object) -> None:
    """In place of a block of statistics."""


m5.stats.dump = nothing
m5.stats.reset = nothing
del sys.argv[0]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__m5_main__")
