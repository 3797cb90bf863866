"""How the documentation site is built: ``make docs``.

Pages are Markdown (MyST). Two directives write pages from the code: ``commands`` (the command line) and
Sphinx' own ``autofunction`` (the Python interface).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "analysis")]

import typer.main  # noqa: E402

from apuflow import __version__  # noqa: E402
from apuflow.cli import build_app  # noqa: E402

project = "apuflow"
author = "the apuflow authors"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
suppress_warnings = ["docutils"]  # texts of functions are reStructuredText only where autodoc shows them
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "none"
autodoc_typehints = "description"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"apuflow {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # -- is an option here, no dash


class Commands(Directive):
    """Every command of ``apuflow``: what it does, its arguments and options, as the program itself says."""

    def run(self) -> list[nodes.Node]:
        """Parse the generated Markdown in place."""
        container = nodes.section()
        container.document = self.state.document
        lines = list(command_lines("apuflow", typer.main.get_command(build_app())))
        self.state.nested_parse(lines, self.content_offset, container)  # type: ignore[arg-type]
        return container.children


def command_lines(name: str, command: Any) -> Iterator[str]:
    """Markdown of a command and those below it."""
    below = getattr(command, "commands", {})
    if not below or name == "apuflow":
        yield from ("", f"## {name}", "", _plain(command.help), "")
        yield from _parameters(command.params)
    for key, subcommand in sorted(below.items()):
        yield from command_lines(f"{name} {key}", subcommand)


def _parameters(parameters: list[Any]) -> Iterator[str]:
    shown = [parameter for parameter in parameters if not getattr(parameter, "hidden", False)]
    if not shown:
        return
    yield from ("| | meaning |", "|---|---|")
    for parameter in shown:
        is_argument = parameter.param_type_name == "argument"
        names = (
            parameter.name.upper() if is_argument else ", ".join([*parameter.opts, *parameter.secondary_opts])
        )
        default = parameter.default
        ending = (
            f" (default: {default})"
            if default not in (None, "", False, ()) and not parameter.required
            else ""
        )
        yield f"| `{names}` | {_plain(parameter.help)}{ending} |"
    yield ""


def _plain(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_directive("commands", Commands)
