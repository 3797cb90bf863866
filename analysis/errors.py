"""The error of this package: what is wrong, where, and what to do about it.

``analysis`` stands on its own, so it does not share the workflow's error class; the attributes are the
same and the command line shows both alike.
"""

from __future__ import annotations

from pathlib import Path

_MISSING = object()


class AnalysisError(Exception):
    """Input that cannot be read, or a question that the data cannot answer.

    Args:
        message: one line: what is wrong.
        file: the file that holds the mistake.
        key: the column, statistic or key in that file.
        value: the offending value (shown with ``repr``).
        remedy: what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        key: str | None = None,
        value: object = _MISSING,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.key = key
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [self.message]
        if self.file is not None:
            lines.append(f"  file:  {self.file}")
        if self.key is not None:
            lines.append(f"  key:   {self.key}")
        if self.value is not _MISSING:
            lines.append(f"  value: {self.value!r}")
        if self.remedy is not None:
            lines.append(f"  fix:   {self.remedy}")
        return "\n".join(lines)
