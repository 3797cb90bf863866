"""Errors that a user can act on: each names the file, the key, the value and the fix."""

from __future__ import annotations

from pathlib import Path

_MISSING = object()


class DescribedError(Exception):
    """Something the user can correct; the command line shows its message, not a stack.

    Args:
        message: one line: what is wrong.
        file: the file that holds the mistake.
        key: the key, option, column or statistic in that file.
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


class AnalysisError(DescribedError):
    """Input that cannot be read, or a request that the data cannot answer."""


class ApuflowError(DescribedError):
    """The experiment cannot be described or run as configured."""


class ConfigError(ApuflowError):
    """A configuration file, option or workload text is wrong."""


class NotDerivable(ApuflowError):
    """MIOpen's kernel key of this layer cannot be derived from its shape."""


class NotModelled(ApuflowError):
    """The preview engine does not model this and refuses to guess."""


class EngineError(ApuflowError):
    """A container engine, compiler or simulator is missing or failed."""
