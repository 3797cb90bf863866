"""In place of the session where apuflow's packages are not installed: `snakemake --lint` reads the rules."""

from __future__ import annotations

import sys
from typing import Any

from apuflow.core.errors import ConfigError


class Unready:
    """Stands for the session and its parts while rules are read without the packages that apuflow needs.

    Snakemake's catalogue lints a clone in such an environment.

    Args:
        missing: the failed import.
        workflow: Snakemake's object.

    Raises:
        SystemExit: with status 2, after the message: Snakemake shall do more than read the rules.
    """

    storage = None
    is_ours_alone = False

    def __init__(self, missing: ModuleNotFoundError, workflow: Any) -> None:
        if (missing.name or "").partition(".")[0] in ("", "apuflow", "apuflow_analysis"):
            raise missing
        if workflow.check_envvars:  # Snakemake leaves it out for --lint alone
            remedy = (
                "`make env && source .venv/bin/activate` in a clone, else install apuflow's wheel with pip"
            )
            error = ConfigError("a Python package of apuflow is missing", value=missing.name, remedy=remedy)
            print(f"apuflow: {error}", file=sys.stderr)
            raise SystemExit(2)

    def __getattr__(self, name: str) -> Unready:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_values: Any, **_named: Any) -> Unready:
        """Itself: a rule only binds what it gets."""
        return self
