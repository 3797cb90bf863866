"""Rows of ``apuflow list``: one function a noun, a row for each thing that has a name.

A row's ``what`` says in a line what the thing is. Files with mistakes are left out and reported together by
``Mistakes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from apuflow.core.errors import ConfigError

Row = dict[str, Any]
T = TypeVar("T")


class Mistakes(list[ConfigError]):
    """Errors of the files that could not be read."""

    def loaded(self, names: Iterable[str], load: Callable[[str], T]) -> Iterator[T]:
        """What the files of these names hold; those that are wrong are noted."""
        for name in names:
            try:
                yield load(name)
            except ConfigError as error:
                self.append(error)


def workloads(mistakes: Mistakes) -> list[Row]:
    """What each needs, and which engines can run it."""
    from apuflow.configure import load_workload, workload_names
    from apuflow.core.engines import ENGINES
    from apuflow.engines import runs_on

    return [
        {"workload": each.name}
        | {str(engine): runs_on(each, engine).state for engine in ENGINES}
        | {"needs": " ".join(each.needs), "what": each.description}
        for each in mistakes.loaded(workload_names(), load_workload)
    ]


def operations(_: Mistakes) -> list[Row]:
    """DNNMark's layers, then the operations beyond them."""
    from apuflow.dnnmark.layers import KINDS as LAYERS
    from apuflow.operations import KINDS

    layers = [(name, "layer", "fwd, bwd", kind.title, "") for name, kind in LAYERS.items()]
    others = [
        (name, "operation", ", ".join(kind.directions), kind.title, kind.source)
        for name, kind in KINDS.items()
    ]
    names = ("operation", "kind", "directions", "what", "kernels")
    return [dict(zip(names, row, strict=True)) for row in [*layers, *others]]


def keys(_: Mistakes) -> list[Row]:
    """Layer keys; those that mean the same in several operations share a row."""
    from apuflow.operations.layer_keys import by_key, layer_keys

    return [
        {"key": fact.key, "operations": fact.operation, "values": fact.values}
        | {"default": fact.default, "what": fact.meaning}
        for facts in by_key(layer_keys()).values()
        for fact in facts
    ]


def suites(mistakes: Mistakes) -> list[Row]:
    """How much of each suite engines run."""
    return [row for row, _ in _suites(mistakes)]


def networks(mistakes: Mistakes) -> list[Row]:
    """The suites that are networks, with their size."""
    return [
        {**row, "learnt_values": network.params, "multiply_adds": network.macs}
        for row, network in _suites(mistakes)
        if network is not None
    ]


def _suites(mistakes: Mistakes) -> Iterator[tuple[Row, Any]]:
    from apuflow.configure.loading import suite_names
    from apuflow.configure.suite import load_suite
    from apuflow.suites.suite import overview

    def load(name: str) -> tuple[Row, Any]:
        suite = load_suite(name)
        name, kind, steps, distinct, left, what = overview(suite)
        counts = {"steps": steps, "distinct": distinct, "not_run": left}
        return {"suite": name, "kind": kind, **counts, "what": what}, suite.whole

    yield from mistakes.loaded(suite_names(), load)


def machines(mistakes: Mistakes) -> list[Row]:
    """GPU and compute units of each machine."""
    from apuflow.configure import load_machine
    from apuflow.configure.catalogue import catalogue
    from apuflow.configure.loading import machine_names

    def value(options: dict[str, Any], name: str) -> Any:
        option = catalogue()[name]
        usual = option.default if option.workflow_default is None else option.workflow_default
        return options.get(name, usual)

    return [
        {"machine": each.name, "gpu": value(each.options, "gfx-version")}
        | {"compute_units": value(each.options, "num-compute-units"), "what": each.description}
        for each in mistakes.loaded(machine_names(), load_machine)
    ]


def sweeps(mistakes: Mistakes) -> list[Row]:
    """What each sweep varies, and on which engines."""
    from apuflow.configure import load_sweep
    from apuflow.configure.loading import sweep_names

    return [
        {"sweep": each.name, "engines": ", ".join(each.engines), "axes": ", ".join(each.axes)}
        | {"workloads": ", ".join(() if each.suites else each.workloads), "suites": ", ".join(each.suites)}
        | {"what": each.description}
        for each in mistakes.loaded(sweep_names(), load_sweep)
    ]


def studies(mistakes: Mistakes) -> list[Row]:
    """Published studies, and the tiers that repeat them."""
    from apuflow.studies.study import load_study, study_names

    return [
        {"study": each.name, "tiers": ", ".join(name for name, how in each.tiers.items() if how.sweep)}
        | {"source": each.source, "what": each.title}
        for each in mistakes.loaded(study_names(), load_study)
    ]


def releases(mistakes: Mistakes) -> list[Row]:
    """GPUs of each release of gem5."""
    from apuflow.configure import load_release
    from apuflow.configure.loading import release_names

    return [
        {
            "release": each.name,
            "gpus": ", ".join(gfx for found in each.build_targets.values() for gfx in found),
        }
        | {"known_by": each.known_by, "what": each.description}
        for each in mistakes.loaded(release_names(), load_release)
    ]


def options(_: Mistakes) -> list[Row]:
    """Options of ``apu_se.py`` that are free to choose."""
    from apuflow.configure.catalogue import catalogue
    from apuflow.configure.reference import meaning_text, values_text

    return [
        {
            "option": each.name,
            "default": each.default if each.workflow_default is None else each.workflow_default,
            "values": values_text(each).replace("`", ""),
            "group": each.group,
            "what": meaning_text(each).replace("`", ""),
        }
        for each in catalogue().values()
        if each.role == "machine"
    ]


def metrics(_: Mistakes) -> list[Row]:
    """Counters, the metrics that are made of them, and the quantities that their formulas name."""
    from apuflow_analysis.counters.table import COUNTERS
    from apuflow_analysis.metrics.compute import METRICS, QUANTITIES

    names = ("metric", "kind", "unit", "what", "formula", "caveat", "source")
    rows = [(m.name, "metric", m.unit, m.meaning, m.formula, m.caveat, m.source) for m in METRICS]
    rows += [(q.name, "quantity", "", q.meaning, q.formula, "", "") for q in QUANTITIES]
    rows += [(c.name, "counter", c.unit, c.meaning, "", "", c.stats) for c in COUNTERS]
    return [dict(zip(names, row, strict=True)) for row in rows]


def figures(_: Mistakes) -> list[Row]:
    """What each figure shows, and what a sweep must have for it."""
    from apuflow_analysis.figures.registry import FIGURES, FigureSpec

    def needs(spec: FigureSpec) -> str:
        counts = (("axes", spec.axes, 0), ("engines", spec.engines, 1), ("releases", spec.releases, 1))
        found = [
            "an axis" if least == 1 else f"{least} {what}" for what, least, usual in counts if least > usual
        ]
        found += ["kernels of each point"] if spec.per_kernel else []
        found += ["suites"] if spec.per_item else []
        found += ["objectives"] if spec.objectives else []
        return ", ".join([*found, *(["named in figures: show"] if spec.on_request else [])])

    return [{"figure": name, "needs": needs(spec), "what": spec.caption} for name, spec in FIGURES.items()]


def workload_keys(name: str) -> list[Row]:
    """Layer keys of a workload with its own values, or of an operation with their defaults."""
    from apuflow.configure import load_workload, workload_names
    from apuflow.operations.layer_keys import layer_keys

    facts = load_workload(name).layer_keys() if name in workload_names() else layer_keys(name)
    value = "value" if name in workload_names() else "default"
    return [
        {"key": fact.key, "values": fact.values, value: fact.default, "what": fact.meaning} for fact in facts
    ]


def workload_details(name: str) -> str:
    """Everything about one workload."""
    from apuflow.configure import load_workload
    from apuflow.core.engines import ENGINES
    from apuflow.engines import runs_on

    workload = load_workload(name)
    lines = [f"{name}: {workload.description}", f"program: {workload.program}"]
    for engine in ENGINES:
        runs = runs_on(workload, engine)
        lines.append(f"{engine}: {runs.state} ({runs.reason})")
    if workload.notes:
        lines.append(f"note: {workload.notes}")
    return "\n".join([*lines, *workload.about()])


def suite_details(name: str) -> str:
    """Everything about one suite."""
    from apuflow.configure.suite import CHOICES, load_suite
    from apuflow.suites.suite import details

    keys = f"keys of layer (docs/networks.md): {', '.join(CHOICES)}"
    return f"{details(load_suite(name, Path()))}\n{keys}\neach step with its sizes: --csv PATH or --json"


def suite_steps(name: str) -> list[Row]:
    """Every step of a suite, in order, with the operation that it runs as, or why it does not run."""
    from apuflow.configure.suite import load_suite
    from apuflow.suites.spec import Spec
    from apuflow.suites.step import Choice

    return [
        {"step": step.name, "op": step.op, "phase": step.phase, "repeats": step.repeats}
        | {"operation": spec.text if isinstance(spec, Spec) else ""}
        | {"not_run": "" if isinstance(spec, Spec) else spec.why}
        for step, spec in load_suite(name, Path()).specified(Choice())
    ]


def machine_details(name: str) -> str:
    """A machine's options."""
    from apuflow.configure import load_machine

    machine = load_machine(name)
    return "\n".join(
        [f"{name}: {machine.description}", *(f"  {key}: {value}" for key, value in machine.options.items())]
    )
