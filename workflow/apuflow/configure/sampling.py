"""What is asked of a sample of suites: a sweep's key ``sampling``, the options of ``apuflow sample``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from apuflow.configure.base import Model, validate
from apuflow.configure.yaml_source import Document
from apuflow.core.errors import ConfigError


class Sampling(Model):
    """Simulate some operations of each suite and estimate the others; `{}`: with these defaults."""

    bound: float = Field(
        0.1,
        gt=0,
        le=1,
        description="half width of the total's interval over the total: 0.03 is 3 %",
    )
    confidence: float = Field(0.95, gt=0, lt=1, description="probability that the interval holds the total")
    budget: float = Field(
        0.6, gt=0, le=1, description="largest share of the cycles of all distinct operations to simulate"
    )
    audit: int = Field(
        1000,
        ge=0,
        description="operations at most that are picked at random, in proportion to their predicted cycles",
    )
    seed: int = Field(0, ge=0, description="another number picks other operations for the audit")

    def with_options(self, **options: float | None) -> Sampling:
        """These values, but those of the command line where they are given.

        Raises:
            ConfigError: one of them is out of range; its key is the option's name.
        """
        given = {name: value for name, value in options.items() if value is not None}
        try:
            return validate(Document(Path(), {**self.model_dump(), **given}, {}), Sampling)
        except ConfigError as error:
            error.file, error.key = None, f"--{error.key}"
            raise
