"""Stage ``image`` of a project, run as rule ``image`` runs it."""

from __future__ import annotations

from pathlib import Path

from apuflow.prepare import stages
from apuflow.prepare.images import ImageRecord
from apuflow.prepare.records import read_record
from apuflow.prepare.tools import Toolset


def make_image(release: str, root: Path, log: Path) -> ImageRecord:
    """Make the image of a release anew and read its record."""
    tools = Toolset(release, root)
    record = root / tools.record("image")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    stages.image(tools, record, log)
    return read_record(record, ImageRecord)
