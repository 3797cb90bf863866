"""Completion of names and of ``key=value``, for the shells (``apuflow --install-completion``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, get_args

import typer

from apuflow.core.errors import ApuflowError


def names_of(rows: Callable[[Any], list[dict[str, Any]]]) -> Callable[[str], list[tuple[str, str]]]:
    """A function that completes the names of a list, with what each is."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        with suppress(ApuflowError):
            found = [(str(next(iter(row.values()))), str(row.get("what", ""))) for row in rows([])]
            return [(name, what) for name, what in dict(found).items() if name.startswith(incomplete)]
        return []

    return complete


def sweep(incomplete: str) -> list[str]:
    """Names of sweeps."""
    from apuflow.configure.loading import sweep_names

    return _beginning(incomplete, sweep_names())


def suite(incomplete: str) -> list[str]:
    """Names of suites."""
    from apuflow.configure.loading import suite_names

    return _beginning(incomplete, suite_names())


def workload(incomplete: str) -> list[str]:
    """Names of workloads."""
    from apuflow.configure.loading import workload_names

    return _beginning(incomplete, workload_names())


def release(incomplete: str) -> list[str]:
    """Names of gem5 releases."""
    from apuflow.configure.loading import release_names

    return _beginning(incomplete, release_names())


def workloads_and_suites(incomplete: str) -> list[str]:
    """Names of workloads and suites, the last of a list with commas between."""
    from apuflow.configure.loading import suite_names, workload_names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, [*workload_names(), *suite_names()])]


def space(incomplete: str) -> list[str]:
    """Sweeps, workloads and suites, for a search."""
    return [*sweep(incomplete), *workloads_and_suites(incomplete)]


def setting(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """``key=value`` of ``apuflow ask``: options, layer keys of the workloads named before, and their values.

    A key that alone is left is shown with values behind it, so that no shell ends the word at ``=``.
    """
    names = str(ctx.params.get("workloads") or ctx.params.get("sweep") or "")
    with suppress(ApuflowError):
        known = {key: (values, what) for key, values, what in _settings(names)}
        key, equals, text = incomplete.partition("=")
        if equals:
            before, comma, last = text.rpartition(",")
            values, what = known.get(key.replace("_", "-"), known.get(key, ((), "")))
            return [(f"{key}={before}{comma}{value}", what) for value in _beginning(last, values)]
        found = [name for name in known if name.startswith(incomplete)]
        if len(found) == 1:
            values, what = known[found[0]]
            return [(f"{found[0]}={value}", what) for value in ("", *values)]
        return [(f"{name}=", known[name][1]) for name in found]
    return []


def _settings(names: str) -> Iterator[tuple[str, list[str], str]]:
    """Key, values that can be offered, meaning."""
    from apuflow.configure.catalogue import catalogue
    from apuflow.configure.loading import machine_names, release_names
    from apuflow.rocblas.tables import Products

    yield "machine", machine_names(), "a file of configs/machines"
    yield "release", release_names(), "a file of configs/gem5"
    yield "products", list(get_args(Products)), "whose kernels compute matrix products"
    for option in catalogue().values():
        if option.role == "machine":
            usual = [] if option.default is None else [str(option.default)]
            yield option.name, [str(value) for value in option.choices] or usual, option.meaning
    for name in filter(None, names.split(",")):
        yield from _layer_settings(name)


def _layer_settings(name: str) -> Iterator[tuple[str, list[str], str]]:
    from apuflow.configure import load_workload
    from apuflow.configure.loading import suite_names, workload_names
    from apuflow.configure.suite import CHOICES

    if name in workload_names():
        for fact in load_workload(name).layer_keys():
            yield fact.key, list(fact.choices) or [fact.default], fact.meaning
    elif name in suite_names():
        yield from ((key, [], "of suites: docs/networks.md") for key in CHOICES)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
