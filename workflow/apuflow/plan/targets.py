"""A call of ``snakemake``: its targets, configuration and directory, checked first; where its results are."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from apuflow.configure import Site, Sweep, sweep_names
from apuflow.configure.base import did_you_mean
from apuflow.configure.catalogue import catalogue
from apuflow.core import paths, project
from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.core.scheduler import user_name
from apuflow.plan.campaign import Campaign

_FORMS = (
    f"The forms are {paths.report('SWEEP/')}, {paths.table('SWEEP/', 'WORKLOAD')} (or .parquet), "
    f"{paths.figure('SWEEP/', 'NAME')} (or .png, .csv), without SWEEP/ for sweep {paths.DEFAULT_SWEEP}"
)


def check_targets(campaign: Campaign, named_targets: Iterable[str]) -> None:
    """Refuse a ``results/`` target that no sweep has, before anything is planned.

    Raises:
        ConfigError: an unknown name (the known ones are listed), a figure that a sweep's axes do not allow,
            or a mistake in their files.
    """
    for target in named_targets:
        named = paths.target(target)
        if named is None:
            continue
        sweep = campaign.sweep(named["under"])
        _check_sampling(sweep, named)
        if "figure" in named:
            campaign.check_figure(named["figure"])
        elif "workload" not in named:
            campaign.figure_names(named["under"])
        workloads = [*campaign.workloads(sweep), *campaign.shown(sweep)]
        for workload in [named["workload"]] if "workload" in named else dict.fromkeys(workloads):
            campaign.points(sweep.name, workload)


def _check_sampling(sweep: Sweep, named: Mapping[str, str]) -> None:
    """Refuse a result that a sweep has only without a sample, or only with one."""
    under, file = paths.under(sweep.name), paths.sweep_file(sweep.name)
    if sweep.sampling is None:
        if "sampled" in named:
            remedy = "add it, as in sampling: {bound: 0.1, budget: 0.6}"
            raise ConfigError("the sweep takes no sample", file=file, key="sampling", remedy=remedy)
        return
    result = named.get("figure") or named.get("workload", paths.OPERATIONS)
    if result != paths.OPERATIONS:
        raise ConfigError(
            "this result needs every operation, and the sweep takes a sample of them",
            file=file,
            key="sampling",
            value=result,
            remedy=f"{paths.report(under)} or {paths.sampled_totals(under)}; to run every operation, take "
            "sampling out of the file: what has run is not run again",
        )


def is_ours_alone(snakefile: str | None) -> bool:
    """Whether a main Snakefile has no rules but apuflow's: that of a checkout, or of ``apuflow init``."""
    if snakefile is None:
        return False
    with contextlib.suppress(OSError):
        own = filter(Path.is_file, map(project.place, ("Snakefile", "workflow/Snakefile")))
        return Path(snakefile).read_text() in (project.SNAKEFILE, *map(Path.read_text, own))
    return False


def refuse_unknown(campaign: Campaign, target: str) -> NoReturn:
    """Refuse a target that looks like a result and is none: Snakemake would not name the nearest result."""
    if Path(target).is_absolute():
        inside = os.path.relpath(target, campaign.root.absolute())
        inside = os.path.relpath(target, campaign.root.resolve()) if inside.startswith("..") else inside
        remedy = f"snakemake ... {inside if paths.target(inside) else _nearest(campaign, inside)}"
        raise ConfigError("a result is named by its path inside of the project", value=target, remedy=remedy)
    near = _nearest(campaign, target)
    raise ConfigError("no result has this name", value=target, remedy=f"did you mean {near}? {_FORMS}")


def _nearest(campaign: Campaign, target: str) -> str:
    """The result whose path is nearest to a target; the report of its sweep where none is near."""
    parts = target.split("/")[1:] or [target]
    close = difflib.get_close_matches(parts[0], sweep_names(campaign.root), n=1)
    under = paths.under(close[0]) if close else ""
    wanted = Path("/".join(parts[1:] if under else parts).lower())
    stems: dict[str, str] = {}
    for path in _results(campaign, under):
        result = Path(path.removeprefix(f"{paths.RESULTS}/{under}").lower())
        if wanted in list(result.parents)[:-1]:
            return paths.report(under)
        stems.setdefault(str(result.with_suffix("")), path)
    close = difflib.get_close_matches(str(wanted.with_suffix("")) if wanted.name else "", stems, n=1)
    return stems[close[0]] if close else paths.report(under)


def _results(campaign: Campaign, under: str) -> list[str]:
    """Every result of a sweep; its report alone where the sweep has a mistake."""
    known = [paths.report(under)]
    with contextlib.suppress(ApuflowError):
        sweep = campaign.sweep(under)
        for name in campaign.shown(sweep):
            known += paths.table_files(under, name)
        for name in campaign.figure_names(under):
            known += [paths.figure(under, name, extension) for extension in ("svg", "png", "csv")]
    return known


def refuse_configuration(config: Mapping[str, Any], files: Sequence[Path]) -> None:
    """Refuse ``--config`` and ``--configfile``, which no rule reads; name the file that a key belongs to."""
    if files:
        remedy = "a sweep is configs/sweeps/NAME.yaml, the machine that runs it configs/site.yaml"
        raise ConfigError("apuflow reads no --configfile", value=str(files[0]), remedy=remedy)
    for key in config:
        raise ConfigError("apuflow reads no --config", key=str(key), remedy=_place_of(str(key)))


def _place_of(key: str) -> str:
    options, site, sweep = catalogue(), Site.model_fields, Sweep.model_fields
    for name in (key, key.replace("_", "-")):
        if name in options:
            return f"write it into the sweep: configs/sweeps/NAME.yaml, options: {{{name}: ...}}"
    if key in site:
        return f"write it into configs/site.yaml: {key}: ..."
    if key in sweep:
        return f"write it into the sweep: configs/sweeps/NAME.yaml, {key}: ..."
    hint = did_you_mean(key, [*options, *site, *sweep])
    return f"{hint}sweeps are in configs/sweeps/NAME.yaml, the machine that runs them in configs/site.yaml"


def refuse_moved_paths(modifier: Any) -> None:
    """Refuse ``prefix:`` and ``replace_prefix:`` of a module: runs would be sought where they are not.

    Args:
        modifier: ``workflow.modifier`` while the module is loaded (snakemake 9.27, ``path_modifier.py``).
    """
    moved = getattr(modifier, "path_modifier", None)
    given = getattr(moved, "prefix", None) or (
        "..." if getattr(moved, "_prefix_replacements", None) else None
    )
    if given:
        raise ConfigError(
            "a module of apuflow cannot have prefix or replace_prefix: its paths are those of its project",
            key="module: prefix",
            value=given,
            remedy="leave it out; for a project elsewhere, run `snakemake --directory DIR`",
        )


def refuse_braces(root: Path) -> None:
    """Refuse a path with braces, which Snakemake takes for wildcards, or with characters that end a line."""
    for place in {str(root.absolute()), str(project.PACKAGE)}:
        if found := [letter for letter in place if letter in "{}" or not letter.isprintable()]:
            raise EngineError(
                f"the path has {found[0]!r}, which Snakemake and its scripts do not take as part of a name",
                file=repr(place)[1:-1],
                remedy="move the project to a directory whose path has no braces and no control characters",
            )


def check_writable(root: Path) -> None:
    """Refuse a project that this user cannot write in, where Snakemake would end with its own stack."""
    state = root / paths.SNAKEMAKE
    for place in filter(Path.is_dir, [state, *state.iterdir()] if state.exists() else [root]):
        if not os.access(place, os.W_OK | os.X_OK):
            me, owner = user_name(os.getuid()), user_name(place.stat().st_uid)
            raise EngineError(
                f"user {me} cannot write here, where Snakemake keeps its state and its locks",
                file=place.absolute(),
                remedy=f"work in a copy of your own, or ask its owner ({owner}) for the right to write; a "
                "disk that is mounted read-only needs `mount -o remount,rw`",
            )


def check_results_exist(root: Path, wanted: Iterable[str]) -> None:
    """Refuse an end of the workflow without a result that was named."""
    for target in sorted(wanted):
        if paths.target(target) and not (root / target).exists():
            remedy = f"start it again; should it happen once more, {paths.SNAKEMAKE}/log has what it did"
            raise EngineError("the workflow ended without this result", file=target, remedy=remedy)


def result_lines(made: Iterable[str]) -> list[str]:
    """Where the results of a call are: figures and tables first, then reports."""
    lines, reports = [], []
    for path in sorted(made):
        named = paths.target(path)
        if named is None:
            continue
        if "workload" in named or "sampled" in named:
            lines.append(f"table: {path}")
        elif "figure" in named:
            lines.append(f"figure: {path}")
        else:
            lines.append(f"tables: {paths.table(named['under'] or '', '*')}")
            reports.append(f"report: {path}")
    return [*sorted(lines), *reports]
