"""Why forms count as wrong: what gem5 does, what the GPU does, and who says so (``rules.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("rules.yaml")


class Rule(NamedTuple):
    """A rule.

    Attributes:
        forms: pattern of the encoding and the name of an instruction.
        words: pattern of a form's words, in alphabetical order.
        gem5, gpu: what each does.
        by: the manual's chapter, LLVM's file or the clause of IEEE 754.
    """

    name: str
    gem5: str
    gpu: str
    by: str
    forms: str = ".*"
    words: str = ""

    def fits(self, encoding: str, instruction: str, features: Collection[str]) -> bool:
        """Whether a form falls under it."""
        form = f"{encoding} {instruction}"
        return bool(re.fullmatch(self.forms, form) and re.search(self.words, " ".join(sorted(features))))


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """All rules."""
    import yaml

    return tuple(Rule(**values) for values in yaml.safe_load(FILE.read_text(encoding="utf-8")))


def rule_of(encoding: str, instruction: str, features: Collection[str]) -> Rule | None:
    """The first rule that a wrong form falls under; None: nobody decided yet."""
    return next((rule for rule in rules() if rule.fits(encoding, instruction, features)), None)
