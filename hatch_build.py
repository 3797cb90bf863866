"""Single files that a wheel carries for projects and archives; pyproject.toml names the directories."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = (
    "LICENSE",
    "Makefile",
    "README.md",
    "hatch_build.py",
    "pyproject.toml",
    "requirements-dev.lock",
    "requirements-slurm.lock",
    "requirements.lock",
    "workflow/Snakefile",
)


class ProjectFiles(BuildHookInterface[Any]):
    """Puts the files where ``apuflow.core.project`` looks for them; an editable install has its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds ``version``, standard or editable."""
        if version == "standard":
            build_data["force_include"] |= {file: f"apuflow/project_files/{file}" for file in FILES}
