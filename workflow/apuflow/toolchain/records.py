"""Records of what was made: small JSON files that change only when what they describe changes."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow.core.errors import ApuflowError
from apuflow.core.files import write_text


class ToolRecord(BaseModel):
    """A record holds no times: the same content made again leaves the same bytes, so nothing reruns."""

    model_config = ConfigDict(extra="forbid", frozen=True)


R = TypeVar("R", bound=ToolRecord)


def write_record(path: Path, record: ToolRecord) -> None:
    """Write a record; a file that already says the same keeps its time stamp."""
    text = record.model_dump_json(indent=1) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def read_record(path: Path, kind: type[R]) -> R:
    """Read a record of a kind. ApuflowError when it is missing or unreadable."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ApuflowError(
            f"not a readable {kind.__name__}: {str(error).splitlines()[0]}",
            file=path,
            remedy="delete it; the workflow makes it again",
        ) from error
