"""Kinds of errors that a user can act on; see :class:`analysis.errors.DescribedError`."""

from __future__ import annotations

from analysis.errors import DescribedError


class ApuflowError(DescribedError):
    """The experiment cannot be described or run as asked."""


class ConfigError(ApuflowError):
    """A configuration file, option or workload text is wrong."""


class NotDerivable(ApuflowError):
    """MIOpen's kernel key of this layer cannot be derived from its shape."""


class NotModelled(ApuflowError):
    """The preview engine does not model this and refuses to guess."""


class EngineError(ApuflowError):
    """A container engine, compiler or simulator is missing or failed."""
