"""How the documentation site is built: ``make docs``.

Pages are Markdown (MyST). Directives write tables from the code: ``commands`` (the command line),
``layer-keys``, ``options``, ``suites``, ``metrics``, ``figures``, ``gallery`` (figures that the build draws),
and Sphinx' own ``autofunction`` (the Python interface).
"""

from __future__ import annotations

import functools
import html
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "analysis")]

import typer.main  # noqa: E402

import apuflow  # noqa: E402
from apuflow import __version__  # noqa: E402
from apuflow.cli import build_app  # noqa: E402
from apuflow.commands.listed import Mistakes, figures  # noqa: E402
from apuflow.configure.reference import options_text, suites_text  # noqa: E402
from apuflow.operations.layer_keys import by_key, layer_keys  # noqa: E402
from apuflow_analysis.counters.table import COUNTERS  # noqa: E402
from apuflow_analysis.metrics.compute import METRICS, QUANTITIES, Metric  # noqa: E402

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


class Written(Directive):
    """A table, or a page, that a function of ``WRITTEN`` makes from the code."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the generated Markdown in place."""
        return _parsed(self, list(WRITTEN[self.name](*self.arguments)))


def _keys() -> Iterator[str]:
    yield from ("| key | layers and operations | values | default | meaning |", "|---|---|---|---|---|")
    for facts in by_key(layer_keys()).values():
        for fact in facts:
            default = fact.default or "-"
            yield f"| `{fact.key}` | {fact.operation} | {fact.values} | {default} | {fact.meaning} |"


def _figures() -> Iterator[str]:
    yield from ("| figure | shows | needs |", "|---|---|---|")
    for row in figures(Mistakes()):
        yield f"| `{row['figure']}` | {row['what']} | {row['needs']} |"


def _measures(name: str) -> Iterator[str]:
    """Counters, quantities, or the metrics of a group."""
    groups = {metric.group: functools.partial(_metrics, metric.group) for metric in METRICS}
    for row in {"counters": _counters, "quantities": _quantities, **groups}[name]():
        yield " | ".join(cell.replace("|", "\\|") for cell in row)


def _counters() -> Iterator[Sequence[str]]:
    yield from (("name", "meaning", "unit", "gem5 statistics"), ["---"] * 4)
    dumps = {"sum": "", "last": " (of the last dump)", "max": " (largest of the dumps)"}
    for row in COUNTERS:
        places = f"`{row.stats}`" if row.stats else "computed"
        yield f"`{row.name}`", row.meaning + dumps[row.aggregate], row.unit, places


def _quantities() -> Iterator[Sequence[str]]:
    yield from (("name", "meaning", "formula"), ["---"] * 3)
    for row in QUANTITIES:
        yield f"`{row.name}`", row.meaning, f"`{row.formula}`"


def _metrics(group: str) -> Iterator[Sequence[str]]:
    yield from (("name", "meaning", "unit", "range", "formula"), ["---"] * 5)
    for row in METRICS:
        if row.group == group:
            caveat = f". *{row.caveat}*" if row.caveat else ""
            yield f"`{row.name}`", row.meaning + caveat, row.unit, _range(row), f"`{row.formula}`"


def _range(metric: Metric) -> str:
    high = f"`{metric.high}`" if isinstance(metric.high, str) else f"{metric.high:g}"
    return f"≥{metric.low:g}" if high == "inf" else f"{metric.low:g}–{high}"


WRITTEN: dict[str, Callable[..., Iterable[str]]] = {
    "commands": lambda: command_lines("apuflow", typer.main.get_command(build_app())),
    "layer-keys": _keys,
    "options": lambda: options_text().splitlines(),
    "suites": lambda: suites_text(ROOT).splitlines(),
    "figures": _figures,
    "metrics": _measures,
}


UNITS = 'units = {"num-compute-units": [1, 2, 4, 8, 16, 32, 64]}'
GALLERY = {
    "speedup": f"""{UNITS}
table = apuflow.evaluate(["conv_fwd", "pool_fwd", "softmax_fwd"], units)
plot = apuflow.figures.make("speedup", table)""",
    "bound": f"""{UNITS}
table = apuflow.evaluate(["bn_fwd", "fc_fwd", "lrn_fwd"], units)
plot = apuflow.figures.make("bound", table)""",
    "stalls": f"""{UNITS}
table = apuflow.evaluate(["conv_fwd", "pool_fwd"], units)
plot = apuflow.figures.make("stalls", table)""",
    "roofline": f"""{UNITS}
table = apuflow.evaluate(["conv_fwd", "fc_fwd", "softmax_fwd"], units)
plot = apuflow.figures.make("roofline", table)""",
    "heatmap": """sizes = {"num-dirs": [1, 2, 4, 8], "num-compute-units": [4, 8, 16, 32]}
table = apuflow.evaluate("pool_fwd", sizes)
plot = apuflow.figures.make("heatmap", table)""",
    "tcc_hit_rate": """sizes = {"tcc-size": ["64kB", "256kB", "1MB", "4MB"]}
table = apuflow.evaluate("pool_fwd", sizes, layer={"n": [1, 10]})
plot = apuflow.figures.make("tcc_hit_rate", table)""",
}
"""Code of each figure of the gallery, which a build of the site executes as it is shown."""


class Gallery(Directive):
    """Figures, each above the code that made it just now."""

    def run(self) -> list[nodes.Node]:
        """Draw into the site and show figure, caption and code."""
        place = Path(self.state.document.settings.env.app.outdir) / "gallery"
        place.mkdir(parents=True, exist_ok=True)
        found: list[nodes.Node] = []
        for name, code in GALLERY.items():
            values: dict[str, Any] = {"apuflow": apuflow}
            exec(code, values)  # noqa: S102  # the page shows what ran
            plot = values["plot"]
            apuflow.figures.save(plot.figure, plot.data, place / name)
            caption = apuflow.figures.FIGURES[name].caption
            image = f'<img src="gallery/{name}.svg" alt="{html.escape(caption, quote=True)}">'
            found.append(nodes.raw("", image, format="html"))
            found += _parsed(self, [caption, "", "```python", *code.splitlines(), "```"])
        return found


def _parsed(directive: Directive, lines: list[str]) -> list[nodes.Node]:
    """The nodes of generated Markdown, which the next build writes anew: the code may have changed."""
    directive.state.document.settings.env.note_reread()
    container = nodes.section()
    container.document = directive.state.document
    directive.state.nested_parse(lines, directive.content_offset, container)  # type: ignore[arg-type]
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
    for name in WRITTEN:
        app.add_directive(name, Written)
    app.add_directive("gallery", Gallery)
