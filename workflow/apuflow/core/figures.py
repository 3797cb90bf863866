"""Names of the figures and of their files, and what each shows."""

from __future__ import annotations

import csv
from pathlib import Path

from apuflow.core.errors import ConfigError

with Path(__file__).with_name("figures.csv").open(newline="", encoding="utf-8") as _file:
    CAPTIONS = {row["name"]: row["caption"] for row in csv.DictReader(_file)}
"""What each figure shows, in a sentence or two."""
FIGURE_NAMES = tuple(CAPTIONS)
FORMATS = (".svg", ".png", ".csv")
"""File formats of each figure: two drawings and its numbers."""


def stem_of(file: Path) -> Path:
    """Path of a figure without extension, for a request of ``file``; ConfigError for an unknown extension."""
    if file.suffix in ("", *FORMATS):
        return file.with_suffix("")
    remedy = f"end the name in {', '.join(FORMATS)}, or in none: all of them are written"
    message = "figures are not written in this format"
    raise ConfigError(message, key="--figure", value=str(file), remedy=remedy)
