"""The cases of an instruction set, from every generator."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from apuflow.configure.base import did_you_mean
from apuflow.conformance.case import Case
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GCN3, gpu
from apuflow.forms.form import Form

IsaName: TypeAlias = Literal["gcn3", "vega"]
GENERATORS: Final = (
    "vector",
    "scalar",
    "scalar_memory",
    "memory",
    "private",
    "buffers",
    "lds",
    "matrix",
    "packed",
)
"""Modules beside this one, each with ``cases(isa)``."""


def isa_of(gfx: str) -> IsaName:
    """The generators' name of a GPU's instruction set."""
    return "gcn3" if gpu(gfx, "--gfx").isa == GCN3 else "vega"


def all_cases(isa: IsaName, generators: Sequence[str] = GENERATORS) -> Iterator[Case]:
    """The cases of these generators.

    Raises:
        ConfigError: there is no such generator.
    """
    for name in generators:
        if name not in GENERATORS:
            remedy = f"{did_you_mean(name, GENERATORS)}known: {', '.join(GENERATORS)}"
            raise ConfigError("no such generator of cases", key="--from", value=name, remedy=remedy)
        module = importlib.import_module(f"{__package__}.{name}")
        yield from module.cases(isa)


def matches(form: Form, pattern: str) -> bool:
    """Whether a form is the one that a pattern names: ``v_cmp_*``, ``vop3 v_cmp_lt_f32 abs0``, ``ds *``."""
    return fnmatchcase(form.instruction, pattern) or fnmatchcase(str(form), pattern)
