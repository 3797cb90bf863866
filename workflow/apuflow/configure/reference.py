"""The generated parts of docs/configuration.md: keys of every file, options of ``apu_se.py``, differences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from apuflow.configure.base import Model
from apuflow.configure.catalogue import RELEASES, Option, catalogue
from apuflow.configure.fewer_workgroups import FewerWorkgroups
from apuflow.configure.figure_choice import FigureChoice
from apuflow.configure.gem5_build import Build
from apuflow.configure.image_repair import Repair
from apuflow.configure.image_source import ImageSource
from apuflow.configure.kernel_file import (
    ArgumentFile,
    BufferFile,
    ContentsFile,
    LaunchFile,
)
from apuflow.configure.machine import Machine
from apuflow.configure.release import Capabilities, Gem5Source, Miopen, Release, ReleaseImage, Source
from apuflow.configure.sampling import Sampling
from apuflow.configure.site import Dnnmark, Gem5Build, Image, Mirrors, Site
from apuflow.configure.suite import SuiteFile
from apuflow.configure.suite_reference import HEADINGS, TOTAL_HEADINGS, suite_rows, total_rows
from apuflow.configure.sweep import Limits, Sweep
from apuflow.configure.workload import Runs
from apuflow.configure.workloads import schemas
from apuflow.operations.reference import kinds_text

_MARK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.S)

MODELS: dict[str, type[Model]] = {
    "sweep": Sweep,
    "limits": Limits,
    "figures": FigureChoice,
    "sampling": Sampling,
    "workgroups": FewerWorkgroups,
    "machine": Machine,
    **schemas(),
    "kernels-buffer": BufferFile,
    "kernels-contents": ContentsFile,
    "kernels-launch": LaunchFile,
    "kernels-argument": ArgumentFile,
    "runs-on": Runs,
    "suite": SuiteFile,
    "release": Release,
    "gem5-source": Gem5Source,
    "gem5-build": Build,
    "source": Source,
    "release-image": ReleaseImage,
    "image-source": ImageSource,
    "image-repair": Repair,
    "miopen": Miopen,
    "capabilities": Capabilities,
    "site": Site,
    "site-image": Image,
    "site-gem5": Gem5Build,
    "site-dnnmark": Dnnmark,
    "mirrors": Mirrors,
}
"""Model by the name of its table."""


def refresh(text: str) -> str:
    """A document with its generated parts as the models and the catalogue have them now."""
    return _MARK.sub(lambda mark: f"{mark.group(1)}{_part(mark.group('name'))}{mark.group(3)}", text)


def _part(name: str) -> str:
    if name == "options":
        return options_text()
    if name == "ignored":
        return ignored_text()
    if name == "operations":
        return kinds_text()
    if name == "suites":
        return _table(HEADINGS, suite_rows(Path()))
    if name == "totals":
        return _table(TOTAL_HEADINGS, total_rows(Path()))
    if name == "differences":
        return differences_text()
    return keys_text(MODELS[name])


def keys_text(model: type[Model]) -> str:
    """The keys of a model as a table."""
    rows = []
    for name, field in model.model_fields.items():
        if name == "name" and model in (Sweep, Machine, Release):
            continue
        default = (
            "needed" if field.is_required() else _code(_default(field.get_default(call_default_factory=True)))
        )
        rows.append((f"`{field.alias or name}`", default, field.description or _first_line(field.annotation)))
    return _table(("key", "default", "meaning"), rows)


def options_text() -> str:
    """Options that are free to choose, by group."""
    parts = []
    groups: dict[str, list[Option]] = {}
    for option in catalogue().values():
        if option.role == "machine":
            groups.setdefault(option.group, []).append(option)
    for group, options in groups.items():
        rows = [
            (f"`{option.name}`", _kind(option), _defaults(option), _since(option), _meaning(option))
            for option in options
        ]
        parts.append(
            f"### {group}\n\n" + _table(("option", "values", "default", "releases", "meaning"), rows)
        )
    return "\n".join(parts)


def ignored_text() -> str:
    """Options that are refused, and what to use instead."""
    rows = []
    for role, title in (
        ("workflow", "set by this workflow"),
        ("refused", "accepted, then breaks"),
        ("ignored", "accepted, read by nothing"),
    ):
        for option in catalogue().values():
            instead = f"nothing: {option.needless}" if option.needless else option.instead
            if option.role == role and (role != "ignored" or instead):
                rows.append((f"`{option.name}`", title, instead or option.meaning))
    others = [
        f"`{o.name}`" for o in catalogue().values() if o.role == "ignored" and not (o.instead or o.needless)
    ]
    return _table(("option", "why", "instead"), rows) + f"\nAlso read by nothing: {', '.join(others)}.\n"


def differences_text() -> str:
    """What changes from one release to the next."""
    rows: list[tuple[str, str]] = []
    for release in RELEASES[1:]:
        previous = RELEASES[RELEASES.index(release) - 1]
        changes: list[str] = []
        known = list(catalogue().values())
        added = [f"`{o.name}`" for o in known if o.since == release and o.role != "ignored"]
        dropped = [f"`{o.name}`" for o in known if o.until == previous and o.role != "ignored"]
        if added:
            changes.append("new: " + ", ".join(added))
        if dropped:
            changes.append("gone: " + ", ".join(dropped))
        for option in known:
            change = (option.changes or {}).get(release, {})
            if "default" in change:
                before = option.default_at(previous)
                changes.append(f"`{option.name}` starts as `{change['default']}` (before: `{before}`)")
            if "added_choices" in change:
                changes.append(
                    f"`{option.name}` also takes {', '.join(f'`{c}`' for c in change['added_choices'])}"
                )
            if "choices" in change:
                changes.append(f"`{option.name}` takes {_listed(change['choices'])}")
        rows.append((release, "; ".join(changes) or "no option differs"))
    return _table(("release", "options"), rows)


def _kind(option: Option) -> str:
    if option.choices:
        return _listed(option.choices)
    bounds = ""
    if option.minimum is not None:
        bounds = (
            f" ≥ {option.minimum}" if option.maximum is None else f" {option.minimum} to {option.maximum}"
        )
    if option.power_of_two:
        bounds += ", a power of two"
    elif option.multiple_of:
        bounds += f", a multiple of {option.multiple_of}"
    names = {"int": "whole number", "flag": "true, false"}
    return names.get(option.type, option.type) + bounds


def _defaults(option: Option) -> str:
    if option.workflow_default is not None:
        return f"`{_yaml(option.workflow_default)}` (gem5: `{_yaml(option.default)}`)"
    if option.default is None:
        return "none"
    changed = {
        release: change["default"]
        for release, change in (option.changes or {}).items()
        if "default" in change
    }
    later = "".join(f", `{_yaml(value)}` from {release}" for release, value in changed.items())
    return f"`{_yaml(option.default)}`{later}"


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _since(option: Option) -> str:
    if option.since is None and option.until is None:
        return "all"
    return f"{option.since or RELEASES[0]} to {option.until}" if option.until else f"from {option.since}"


def _meaning(option: Option) -> str:
    return option.meaning + (f" [{option.unit}]" if option.unit else "")


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(value: Any) -> str:
    if isinstance(value, Model):
        return "see below"
    if value is None:
        return "none"
    if isinstance(value, (tuple, list, dict)):
        return ", ".join(map(str, value)) if value else "none"
    return _yaml(value)


def _code(text: str) -> str:
    return text if text in ("none", "see below") else f"`{text}`"


def _first_line(annotation: Any) -> str:
    """First line of the docstring of a nested model, or nothing."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Model):
            return (kind.__doc__ or "").splitlines()[0]
    return ""


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|" + "---|" * len(list(headings)))
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
