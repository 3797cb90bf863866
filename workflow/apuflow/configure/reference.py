"""The generated parts of documents: keys of every file, options of ``apu_se.py``, defects of gem5."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from apuflow.configure.base import Model
from apuflow.configure.catalogue import CHOICE_CHANGES, Option, catalogue
from apuflow.configure.gem5_build import Build
from apuflow.configure.image_source import ImageSource, Repair
from apuflow.configure.kernel_file import ArgumentFile, BufferFile, ContentsFile, LaunchFile
from apuflow.configure.loading import release_names, suite_names
from apuflow.configure.release import Capabilities, Gem5Source, Miopen, Release, ReleaseImage, Source
from apuflow.configure.site import Dnnmark, Gem5Build, Image, Mirrors, Site
from apuflow.configure.suite import SuiteFile, load_suite
from apuflow.configure.sweep import Limits, Machine, Sweep
from apuflow.configure.sweep_keys import FewerWorkgroups, FigureChoice, Sampling
from apuflow.configure.workload import Runs
from apuflow.configure.workloads import schemas
from apuflow.core import markdown, paths
from apuflow.forms.rules import rule_of, rules
from apuflow.forms.table import WEIGHT, Table, measured, read
from apuflow.operations.registry import kinds_text
from apuflow.suites.spec import Refused, Spec
from apuflow.suites.step import Choice
from apuflow.suites.suite import Suite

_LEVEL = re.compile(r"\bL[123](?=[A-Z]|\b)")
"""Options of the three levels of TLBs that are alike share a row."""
SUITE_HEADINGS = ("suite", "steps", "distinct", "learnt values", "multiply-adds", "published", "not run")
KIND_HEADINGS = ("in a table", "runs as", "not run, and why")
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
    return _PARTS[name]() if name in _PARTS else keys_text(MODELS[name])


def keys_text(model: type[Model]) -> str:
    """The keys of a model as a table: needed ones in bold, the others with their default.

    Keys that explain themselves and the name of a file are left out.
    """
    rows = []
    for name, field in model.model_fields.items():
        if name in ("kind", "description", "notes") or (
            name == "name" and model in (Sweep, Machine, Release)
        ):
            continue
        key = field.alias or name
        shown = f"**`{key}`**"
        if not field.is_required():
            default = _default(field.get_default(call_default_factory=True))
            shown = f"`{key}: {default}`" if default else f"`{key}`"
        rows.append((shown, field.description or _first_line(field.annotation)))
    return _table(("key", "meaning"), rows)


def options_text() -> str:
    """Options that are free to choose, by group."""
    parts = []
    free = (option for option in catalogue().values() if option.role == "machine")
    for group, options in itertools.groupby(free, lambda option: option.group):
        levels: dict[tuple[str, ...], list[Option]] = {}
        for option in options:
            alike = tuple(
                _LEVEL.sub("Lx", text) for text in (option.name, values_text(option), meaning_text(option))
            )
            levels.setdefault(alike, []).append(option)
        rows = [
            (
                ", ".join(f"`{one.name}{_default_of(one)}`" for one in same),
                values,
                meaning if len(same) > 1 else meaning_text(same[0]),
            )
            for (_, values, meaning), same in levels.items()
        ]
        parts.append(f"### {group}\n\n" + _table(("option", "values", "meaning"), rows))
    return "\n".join(parts)


def rules_text(root: Path = Path()) -> str:
    """What gem5 does otherwise than the GPU, and of how many instructions in each build."""
    found = {
        f"{name} {build.removesuffix('_X86')}": table for (name, build), table in _measured(root).items()
    }
    counts = {name: defaultdict[str, set[str]](set) for name in found}
    for name, table in found.items():
        for row in table.rows:
            if row.verdict == "wrong":
                rule = rule_of(row.encoding, row.instruction, row.features)
                counts[name][rule.name if rule else ""].add(row.instruction)
    rows = [
        (rule.name, rule.gem5, *(str(len(of[rule.name]) or "") for of in counts.values())) for rule in rules()
    ]
    return _table(("what", "gem5", *found), rows)


def conformance_text(root: Path = Path()) -> str:
    """Forms of instructions by verdict, of each release and build whose suite ran."""
    rows = []
    for (name, build), table in _measured(root).items():
        numbers = [sum(each.get(verdict, 0) for each in table.counts.values()) for verdict in WEIGHT]
        rows.append((name, build, *(f"{number:,}" for number in (sum(numbers), *numbers))))
    return _table(("gem5", "build", "forms", *WEIGHT), rows)


def _measured(root: Path) -> Mapping[tuple[str, str], Table]:
    known = release_names(root)
    return {key: read(file) for key, file in sorted(measured(root).items()) if key[0] in known}


def suites_text(root: Path = Path()) -> str:
    """What there is in each suite; of all its sets, forward, backward and update."""
    with (root / paths.network_table("index")).open(encoding="utf-8") as stream:
        published = {row["network"]: row["check"] for row in csv.DictReader(stream)}
    return _table(
        SUITE_HEADINGS, [_row(suite, published.get(suite.table.stem, "")) for suite in _suites(root)]
    )


def steps_text(root: Path = Path()) -> str:
    """Kinds of steps that are not run, or not always, and why."""
    kinds: dict[str, dict[str, None]] = {}
    reasons: dict[str, dict[str, None]] = {}
    for suite in _suites(root):
        for step, spec in suite.specified(Choice()):
            kinds.setdefault(step.op, {})
            if isinstance(spec, Spec):
                kinds[step.op][f"`{spec.kind}`"] = None
            else:
                reasons.setdefault(step.op, {})[spec.why] = None
    rows = [(op, _or_dash(kinds[op]), _or_dash(reasons[op])) for op in sorted(reasons)]
    return _table(KIND_HEADINGS, rows)


def _suites(root: Path) -> list[Suite]:
    return [load_suite(name, root) for name in suite_names(root)]


def _row(suite: Suite, published: str) -> tuple[str, ...]:
    found = suite.specified(Choice())
    left = Counter(step.op for step, spec in found if isinstance(spec, Refused))
    network = suite.whole
    return (
        f"`{suite.name}`",
        str(len(found)),
        str(len({spec for _, spec in found if isinstance(spec, Spec)})),
        f"{network.params:,}" if network else "-",
        f"{network.macs / 1e9:,.3f} G" if network else "-",
        published or "-",
        _or_dash(f"{count} {op}" for op, count in left.items()),
    )


def _or_dash(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "-"


def values_text(option: Option) -> str:
    """The values that an option takes, those of later releases among them."""
    if option.choices:
        later = [
            f"; {release}: {'and ' if key == 'added_choices' else ''}{_listed(change[key])}"
            for release, change in (option.changes or {}).items()
            for key in CHOICE_CHANGES
            if key in change
        ]
        return _listed(option.choices) + "".join(later)
    bounds = ""
    if option.minimum is not None:
        bounds = f"≥{option.minimum}" if option.maximum is None else f"{option.minimum}–{option.maximum}"
    if option.power_of_two:
        bounds += ", power of two"
    elif option.multiple_of:
        bounds += f", multiple of {option.multiple_of}"
    return bounds or option.type


def _default_of(option: Option) -> str:
    value = option.default if option.workflow_default is None else option.workflow_default
    return "" if value is None else f": {_yaml(value)}"


def _changed(option: Option) -> str:
    """Defaults of gem5 and of later releases, where they differ."""
    found = [f"gem5: `{_yaml(option.default)}`"] if option.workflow_default is not None else []
    before = option.default
    for release, change in (option.changes or {}).items():
        if "default" in change and _amount(change["default"]) != _amount(before):
            before = change["default"]
            found.append(f"{release}: `{_yaml(before)}`")
    return f" ({', '.join(found)})" if found else ""


def _amount(value: object) -> object:
    """A size without its spelling: from v24.1 on gem5 writes KiB for kB."""
    return str(value).replace("KiB", "kB").replace("iB", "B")


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def meaning_text(option: Option) -> str:
    """What an option means, with its unit, the releases that know it, and other defaults."""
    since = f" (from {option.since})" if option.since else ""
    until = f" (until {option.until})" if option.until else ""
    unit = "" if option.unit in (None, "GPU cycles") else f" [{option.unit}]"
    return option.meaning + unit + since + until + _changed(option)


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(value: Any) -> str:
    if value is None or isinstance(value, Model):
        return ""
    if isinstance(value, (tuple, list, dict)):
        return ", ".join(map(str, value))
    return _yaml(value)


def _first_line(annotation: Any) -> str:
    """First line of the docstring of a nested model, or nothing."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Model):
            return (kind.__doc__ or "").splitlines()[0]
    return ""


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join([*markdown.head(headings), *map(markdown.row, rows)]) + "\n"


_PARTS: dict[str, Callable[[], str]] = {
    "operations": kinds_text,
    "steps": steps_text,
    "rules": rules_text,
    "conformance": conformance_text,
}
"""Tables that are no model's, by name."""
