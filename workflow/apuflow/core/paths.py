"""Every path pattern of the workflow. Relative to the project's directory; strings, as Snakemake takes them.

``{...}`` in an argument passes through, so each function also yields the rule's wildcard pattern; with ``*``
as arguments it yields a pattern for ``glob``.
"""

from __future__ import annotations

import hashlib
import re

from apuflow.core.engines import PREVIEW_VERSION

DEFAULT_SWEEP = "default"

CONFIGS = "configs"
RUNS = "runs"
RESULTS = "results"
SOURCES = "build/sources"
"""Checkouts made here."""
OPERATIONS = "operations"
"""The workload that the points of all suites belong to: what one suite has simulated, the next one has."""
CACHE = "cachefiles"
"""Kernel objects and databases."""


def matcher(pattern: str, **wildcards: str) -> re.Pattern[str]:
    """What a rule's wildcard pattern matches; each wildcard is a group of its name.

    Args:
        pattern: of one of these functions.
        wildcards: regular expression of a wildcard; of those left out: anything but ``/``.
    """
    parts = re.split(r"\{(\w+)\}", pattern)
    words = [re.escape(part) for part in parts]
    words[1::2] = [f"(?P<{name}>{wildcards.get(name, '[^/]+')})" for name in parts[1::2]]
    return re.compile("".join(words))


# configuration -------------------------------------------------------------------------------------------
def sweep_file(sweep: str = "{sweep}") -> str:
    """What one sweep runs."""
    return f"{CONFIGS}/sweeps/{sweep}.yaml"


def workload_file(workload: str = "{workload}") -> str:
    """What one workload is."""
    return f"{CONFIGS}/workloads/{workload}.yaml"


def suite_file(suite: str = "{suite}") -> str:
    """What one suite is: a network, or a list of items."""
    return f"{CONFIGS}/suites/{suite}.yaml"


def suite_table(table: str = "{table}") -> str:
    """Items of a suite that is a list."""
    return f"{CONFIGS}/suites/{table}.csv"


def network_table(table: str = "{table}") -> str:
    """Layers of a network."""
    return f"{CONFIGS}/networks/{table}.csv"


def machine_file(machine: str = "{machine}") -> str:
    """Options of one simulated machine."""
    return f"{CONFIGS}/machines/{machine}.yaml"


def release_file(release: str = "{release}") -> str:
    """One gem5 release: commits, capabilities."""
    return f"{CONFIGS}/gem5/{release}.yaml"


def known_answers(engine: str = "{engine}", release: str = "{release}") -> str:
    """Recorded statistics of ten small points of an engine on a gem5 release."""
    return f"{CONFIGS}/known_answers/{engine}/{release}.csv"


# runs ----------------------------------------------------------------------------------------------------
def run_dir(engine: str = "{engine}", workload: str = "{workload}", point: str = "{point}") -> str:
    """Everything one simulated point leaves: its record, statistics, logs and evidence."""
    return f"{RUNS}/{engine}/{workload}/{point}"


def run_record(engine: str = "{engine}", workload: str = "{workload}", point: str = "{point}") -> str:
    """The record of a proven run (or, in a recording sweep, of a run whose failure is proven)."""
    return f"{run_dir(engine, workload, point)}/run.json"


def run_bundle(engine: str = "{engine}", workload: str = "{workload}", point: str = "{point}") -> str:
    """Everything of a run but its record, where storage carries it."""
    return f"{run_dir(engine, workload, point)}/run.tar.gz"


def preview_dir(sweep: str = "{sweep}", workload: str = "{workload}", version: str = PREVIEW_VERSION) -> str:
    """One preview batch: all points of a sweep's workload, by one version of the model."""
    return f"{RUNS}/preview/{workload}/{sweep}.v{version}"


def preview_counters(
    sweep: str = "{sweep}", workload: str = "{workload}", version: str = PREVIEW_VERSION
) -> str:
    """Counters of a preview batch, a row per point."""
    return f"{preview_dir(sweep, workload, version)}/counters.parquet"


def preview_record(
    sweep: str = "{sweep}", workload: str = "{workload}", version: str = PREVIEW_VERSION
) -> str:
    """The record of a preview batch."""
    return f"{preview_dir(sweep, workload, version)}/run.json"


# results -------------------------------------------------------------------------------------------------
# ``under`` is "" for the default sweep, whose results stand directly in results/, else "SWEEP/".
def under(sweep: str) -> str:
    """Where below results/ a sweep stands: "" or "SWEEP/"."""
    return "" if sweep == DEFAULT_SWEEP else f"{sweep}/"


def table(under: str = "{under}", workload: str = "{workload}", extension: str = "csv") -> str:
    """One workload's table of a sweep."""
    return f"{RESULTS}/{under}{workload}.{extension}"


def table_columns(under: str = "{under}", workload: str = "{workload}") -> str:
    """Units and meanings of a table's columns."""
    return f"{RESULTS}/{under}{workload}.columns.json"


def table_files(under: str = "{under}", workload: str = "{workload}") -> tuple[str, str, str]:
    """One workload's table as CSV and Parquet, and its columns."""
    csv, parquet = (table(under, workload, extension) for extension in ("csv", "parquet"))
    return csv, parquet, table_columns(under, workload)


def suite_items(under: str = "{under}", suite: str = "{suite}") -> str:
    """One suite's items, a row each."""
    return f"{RESULTS}/{under}items/{suite}.csv"


def suite_times(under: str = "{under}", suite: str = "{suite}") -> str:
    """One suite's time by phase and kind of layer."""
    return f"{RESULTS}/{under}items/{suite}.times.csv"


def suite_summary(under: str = "{under}", suite: str = "{suite}") -> str:
    """One suite's iterations: time by phase, throughput, memory by part."""
    return f"{RESULTS}/{under}items/{suite}.summary.csv"


def suite_files(under: str = "{under}", suite: str = "{suite}") -> tuple[str, str, str]:
    """All tables of one suite's items: the items, their times, their summary."""
    return suite_items(under, suite), suite_times(under, suite), suite_summary(under, suite)


def figure(under: str = "{under}", name: str = "{figure}", extension: str = "svg") -> str:
    """One figure of a sweep."""
    return f"{RESULTS}/{under}figures/{name}.{extension}"


def sampled(under: str = "{under}") -> str:
    """Operations of a sweep's suites, a row each: measured, or estimated from those that were."""
    return f"{RESULTS}/{under}sampled.csv"


def sampled_totals(under: str = "{under}") -> str:
    """Iterations of a sweep's suites, estimated from some of their operations."""
    return f"{RESULTS}/{under}sampled.totals.csv"


def report(under: str = "{under}") -> str:
    """The page of a sweep."""
    return f"{RESULTS}/{under}report.html"


_UNDER = "((?!figures/|items/)[^/]+/)?"
_TARGETS = (
    matcher(f"{RESULTS}/{{under}}{{sampled}}.csv", under=_UNDER, sampled=r"sampled(?:\.totals)?"),
    matcher(suite_times(suite="{workload}"), under=_UNDER),
    matcher(suite_summary(suite="{workload}"), under=_UNDER),
    matcher(suite_items(suite="{workload}"), under=_UNDER),
    matcher(report(), under=_UNDER),
    matcher(figure(extension="{extension}"), under=_UNDER, extension="svg|png|csv"),
    matcher(table_columns(), under=_UNDER),
    matcher(table(extension="{extension}"), under=_UNDER, extension="csv|parquet"),
)


def unknown_result(*roots: str) -> str:
    """Regular expression of paths that look like results and are none.

    They are in ``results``, in a directory whose name is nearly that, in no directory but named as a table or
    report, or are a result's absolute path.

    Args:
        roots: absolute paths of the project's directory.
    """
    known = "|".join(re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern) for pattern in _TARGETS)
    name = RESULTS
    cuts = [(name[:place], name[place:]) for place in range(len(name) + 1)]
    near = {rf"{a}\w?{b}" for a, b in cuts} | {rf"{a}\w?{b[1:]}" for a, b in cuts}
    near |= {f"{a}{b[1:2]}{b[:1]}{b[2:]}" for a, b in cuts} | {rf"\w{{0,3}}{name}", rf"{name}\w{{0,3}}"}
    near |= {one.replace(r"\w?", "") for one in near}
    inside = rf"[^/]+\.(?:csv|parquet)|report\.html|{name}(?:/.*)?|(?i:{'|'.join(sorted(near))})/.*"
    absolute = "|".join(map(re.escape, dict.fromkeys(roots)))
    return rf"(?!(?:{known})$)(?:{inside})|(?:{absolute})/{name}/.*"


def target(path: str) -> dict[str, str] | None:
    """Wildcards of a results file, ``under`` and ``workload``, ``figure`` or ``sampled`` among them.

    None: it is no results file.
    """
    match = next((match for pattern in _TARGETS if (match := pattern.fullmatch(path))), None)
    return None if match is None else match.groupdict()


def extra_kernels() -> str:
    """Kernel rows that are written down instead of derived, in the format of upstream's cachefiles.csv."""
    return f"{CONFIGS}/kernels.csv"


# made here: toolchain, inputs ----------------------------------------------------------------------------
def tool_record(release: str = "{release}", tool: str = "{tool}", request: str = "{request}") -> str:
    """What a tool of a release is: image, gem5, sources, DNNMark.

    Args:
        request: hash of what the configuration asks of the tool (``requests.request``).
    """
    return f"build/toolchain/{release}/{tool}-{request}.json"


def supplied_record() -> str:
    """In an unpacked archive: hashes of what the site of its runs supplied."""
    return "provenance/brought.json"


def hash_note(place: str) -> str:
    """The last look at a large file of the user's, so that it is not hashed at every start."""
    return f"build/hashes/{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"


def source_dir(repository: str, commit: str) -> str:
    """A checkout made here; the directory is part of DNNMark's programs, so it never moves."""
    return f"{SOURCES}/{repository}-{commit[:12]}"


def image_dir() -> str:
    """Where Apptainer's image files are kept."""
    return "build/images"


def image_lock() -> str:
    """Which image each release runs in; the user commits it."""
    return "images.lock.yaml"


def image_stages(request: str) -> str:
    """Finished stages of an image that is built from a recipe, and how long each took."""
    return f"{image_dir()}/stages-{request}.json"


def set_aside_dir(engine: str, workload: str, point: str) -> str:
    """A run that is made once more, until the new one is there."""
    return f"build/set_aside/{engine}/{workload}/{point}"


def started_dir() -> str:
    """gem5s that have built their machine and wait for a run of it."""
    return "build/started"


def mmap_file(size: int | str = "{bytes}") -> str:
    """Floats that DNNMark fills its tensors from, as many bytes as its name says."""
    return f"build/inputs/mmap-{size}.bin"


def launcher(sources: str = "{sources}") -> str:
    """The program that dispatches kernels without a runtime, of sources with this hash."""
    return f"build/launcher/{sources}/apuflow-launcher"


def kernel_object(gfx: str = "{gfx}", name: str = "{object}") -> str:
    """One compiled MIOpen kernel."""
    return f"{CACHE}/objects/{gfx}/{name}.o"


def launch_profiles(name: str) -> str:
    """What each launch of a program of the user's does, for the preview."""
    return f"build/profiles/{name}.json"


def kernel_assembly(name: str = "{assembly}") -> str:
    """One kernel of rocBLAS' as Tensile writes it, for all GPUs."""
    return f"{CACHE}/assembly/{name}.s"


def product_table(name: str = "{table}") -> str:
    """The table in which rocBLAS looks up the kernels of some products; named by the hash of their sizes."""
    return f"{CACHE}/rocblas/{name}.dat"


def kernel_database(release: str = "{release}", rows: str = "{rows}", file: str = "{database}") -> str:
    """A MIOpen kernel database that holds exactly one set of rows; ``rows`` is the hash of that set."""
    return f"{CACHE}/{release}/{rows}/{file}"


def manifest(sweep: str = "{sweep}", workload: str = "{workload}", content: str = "{content}") -> str:
    """The resolved points of a sweep's workload; ``content``: hash of all that it was made from.

    Each is in a directory of its own: Snakemake lists a directory once and takes later files for missing.
    """
    return f"build/plan/{sweep}/{workload}-{content}/points.sqlite"


def current_plan() -> str:
    """Names of the manifests that jobs read, one a line."""
    return "build/plan/current"


def sample_round(sweep: str = "{sweep}", name: str = "{round}") -> str:
    """A mark that all runs of a round of a sweep's sample are there."""
    return f"build/samples/{sweep}/{name}"


def batch(name: str = "{batch}") -> str:
    """A mark that all points of a batch have their records."""
    return f"build/batches/{name}.json"


def log(*parts: str) -> str:
    """Log of a rule: its kind and what tells its jobs apart."""
    return "logs/" + "/".join(parts) + ".log"


def failed_bundle(engine: str = "{engine}", workload: str = "{workload}", point: str = "{point}") -> str:
    """What a run without a record left, where storage carries it: a log, which a failed job may have."""
    return f"logs/simulate/{engine}/{workload}/{point}.tar.gz"


# Snakemake's own -----------------------------------------------------------------------------------------
SNAKEMAKE = ".snakemake"


def snakemake(*parts: str) -> str:
    """Below the directory that Snakemake keeps its own state in: ``locks``, ``incomplete``, ``scripts``."""
    return "/".join((SNAKEMAKE, *parts))
