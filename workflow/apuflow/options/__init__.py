"""The options of gem5's ``apu_se.py``: what each release accepts, its defaults, what it can really run."""

from apuflow.options.catalogue import RELEASES, Option, Value, catalogue, position
from apuflow.options.check import (
    OptionProblem,
    canonical,
    check,
    check_one,
    defaults,
    resolve,
)
from apuflow.options.units import clock_hertz, format_size, size_bytes
from apuflow.options.values import Options

__all__ = [
    "RELEASES",
    "Option",
    "OptionProblem",
    "Options",
    "Value",
    "canonical",
    "catalogue",
    "check",
    "check_one",
    "clock_hertz",
    "defaults",
    "format_size",
    "position",
    "resolve",
    "size_bytes",
]
