"""Every path pattern of the workflow. Relative to the project's directory; strings, as Snakemake takes them.

Called with the values of its wildcards, each is a path; without them, the rule's wildcard pattern; with ``*``
as values, a pattern for ``glob``.
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

    ``wildcards`` are regular expressions; those left out match anything but ``/``.
    """
    parts = re.split(r"\{(\w+)\}", pattern)
    words = [re.escape(part) for part in parts]
    words[1::2] = [f"(?P<{name}>{wildcards.get(name, '[^/]+')})" for name in parts[1::2]]
    return re.compile("".join(words))


class PathPattern:
    """A path: called with its parameters, in order or by name.

    Args:
        pattern: with each parameter in braces.
        first: parameters that come first in a call, where that is not their order in the pattern.
        defaults: of parameters; of the others the wildcard of their name.
    """

    def __init__(self, pattern: str, *first: str, **defaults: str) -> None:
        self._pattern = pattern
        self._names = list(dict.fromkeys([*first, *re.findall(r"\{(\w+)\}", pattern)]))
        self.defaults = {name: defaults.get(name, f"{{{name}}}") for name in self._names}

    def __call__(self, *values: str | int, **named: str | int) -> str:
        """The path, or its pattern; TypeError for a parameter that it does not have."""
        given = dict(zip(self._names, values, strict=False)) | named
        if len(given) < len(values) + len(named) or not given.keys() <= self.defaults.keys():
            raise TypeError(f"{self._pattern} does not take {values} {named}")
        return self._pattern.format_map(self.defaults | given)


# configuration -------------------------------------------------------------------------------------------
sweep_file = PathPattern("configs/sweeps/{sweep}.yaml")
"""What one sweep runs."""
study_file = PathPattern("configs/studies/{study}/study.yaml")
"""A published study: sweeps, statements, criteria."""
workload_file = PathPattern("configs/workloads/{workload}.yaml")
"""What one workload is."""
suite_file = PathPattern("configs/suites/{suite}.yaml")
"""What one suite is: a network, or a list of items."""
suite_table = PathPattern("configs/suites/{table}.csv")
"""Items of a suite that is a list."""
network_table = PathPattern("configs/networks/{table}.csv")
"""Layers of a network."""
machine_file = PathPattern("configs/machines/{machine}.yaml")
"""Options of one simulated machine."""
release_file = PathPattern("configs/gem5/{release}.yaml")
"""One gem5 release: commits, capabilities."""
known_answers = PathPattern("configs/known_answers/{engine}/{release}.csv")
"""Recorded statistics of ten small points of an engine on a gem5 release."""
extra_kernels = PathPattern("configs/kernels.csv")
"""Kernel rows that are written down instead of derived, in the format of upstream's cachefiles.csv."""


# runs ----------------------------------------------------------------------------------------------------
run_dir = PathPattern("runs/{engine}/{workload}/{point}")
"""Everything one simulated point leaves: its record, statistics, logs and evidence."""
run_record = PathPattern("runs/{engine}/{workload}/{point}/run.json")
"""The record of a proven run (or, in a recording sweep, of a run whose failure is proven)."""
run_bundle = PathPattern("runs/{engine}/{workload}/{point}/run.tar.gz")
"""Everything of a run but its record, where storage carries it: a log, which a failed job may have."""
_PREVIEW = "runs/preview/{workload}/{sweep}.v{version}"
preview_dir = PathPattern(_PREVIEW, "sweep", version=PREVIEW_VERSION)
"""One preview batch: all points of a sweep's workload, by one version of the model."""
preview_counters = PathPattern(f"{_PREVIEW}/counters.parquet", "sweep", version=PREVIEW_VERSION)
"""Counters of a preview batch, a row per point."""
preview_record = PathPattern(f"{_PREVIEW}/run.json", "sweep", version=PREVIEW_VERSION)
"""The record of a preview batch."""


# results -------------------------------------------------------------------------------------------------
# ``under`` is "" for the default sweep, whose results stand directly in results/, else "SWEEP/".
def under(sweep: str) -> str:
    """Where below results/ a sweep stands: "" or "SWEEP/"."""
    return "" if sweep == DEFAULT_SWEEP else f"{sweep}/"


table = PathPattern("results/{under}{workload}.{extension}", extension="csv")
"""One workload's table of a sweep."""
table_columns = PathPattern("results/{under}{workload}.columns.json")
"""Units and meanings of a table's columns."""


def table_files(under: str = "{under}", workload: str = "{workload}") -> tuple[str, str, str]:
    """One workload's table as CSV and Parquet, and its columns."""
    csv, parquet = (table(under, workload, extension) for extension in ("csv", "parquet"))
    return csv, parquet, table_columns(under, workload)


suite_items = PathPattern("results/{under}items/{suite}.csv")
"""One suite's items, a row each."""
suite_times = PathPattern("results/{under}items/{suite}.times.csv")
"""One suite's time by phase and kind of layer."""
suite_summary = PathPattern("results/{under}items/{suite}.summary.csv")
"""One suite's iterations: time by phase, throughput, memory by part."""


def suite_files(under: str = "{under}", suite: str = "{suite}") -> tuple[str, str, str]:
    """All tables of one suite's items: the items, their times, their summary."""
    return suite_items(under, suite), suite_times(under, suite), suite_summary(under, suite)


figure = PathPattern("results/{under}figures/{name}.{extension}", name="{figure}", extension="svg")
"""One figure of a sweep."""
sampled = PathPattern("results/{under}sampled.csv")
"""Operations of a sweep's suites, a row each: measured, or estimated from those that were."""
sampled_totals = PathPattern("results/{under}sampled.totals.csv")
"""Iterations of a sweep's suites, estimated from some of their operations."""
report = PathPattern("results/{under}report.html")
"""The page of a sweep."""
_UNDER = "((?!figures/|items/)[^/]+/)?"
verdicts_page = PathPattern("results/{study}/verdicts.md")
"""What a study's statements came to, of all tiers."""
verdicts = PathPattern("results/{study}/verdicts-{tier}.json")
"""The verdicts of one tier."""

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
    report, or are a result's absolute path below one of the project's ``roots``.
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
    """Wildcards of a results file, such as ``under``, ``workload``, ``figure``; None: it is none."""
    match = next((match for pattern in _TARGETS if (match := pattern.fullmatch(path))), None)
    return None if match is None else match.groupdict()


# made here: toolchain, inputs ----------------------------------------------------------------------------
tool_record = PathPattern("build/toolchain/{release}/{tool}-{request}.json")
"""What a tool of a release is: image, gem5, sources, DNNMark; ``request``: hash of what is asked of it."""
supplied_record = PathPattern("provenance/brought.json")
"""In an unpacked archive: hashes of what the site of its runs supplied."""
image_dir = PathPattern("build/images")
"""Where Apptainer's image files are kept."""
image_lock = PathPattern("images.lock.yaml")
"""Which image each release runs in; the user commits it."""
started_dir = PathPattern("build/started")
"""gem5s that have built their machine and wait for a run of it."""
mmap_file = PathPattern("build/inputs/mmap-{size}.bin", size="{bytes}")
"""Floats that DNNMark fills its tensors from, as many bytes as its name says."""
launcher = PathPattern("build/launcher/{sources}/apuflow-launcher")
"""The program that dispatches kernels without a runtime, of sources with this hash."""
kernel_object = PathPattern("cachefiles/objects/{gfx}/{name}.o", name="{object}")
"""One compiled MIOpen kernel."""
launch_profiles = PathPattern("build/profiles/{name}.json")
"""What each launch of a program of the user's does, for the preview."""
preview_object = PathPattern("build/profiles/{gfx}/{name}.o", name="{object}")
"""A code object of the user's that the preview has executed."""
device_library = PathPattern("build/device/{content}")
"""Directory of a shared library that stands in for a GPU's runtime."""
kernel_assembly = PathPattern("cachefiles/assembly/{name}.s", name="{assembly}")
"""One kernel of rocBLAS' as Tensile writes it, for all GPUs."""
product_table = PathPattern("cachefiles/rocblas/{name}.dat", name="{table}")
"""The table in which rocBLAS looks up the kernels of some products; named by the hash of their sizes."""
kernel_database = PathPattern("cachefiles/{release}/{rows}/{file}", file="{database}")
"""A MIOpen kernel database that holds exactly one set of rows; ``rows`` is the hash of that set."""
manifest = PathPattern("build/plan/{sweep}/{workload}-{content}/points.sqlite")
"""The resolved points of a sweep's workload; ``content``: hash of all that it was made from.

Each is in a directory of its own: Snakemake lists a directory once and takes later files for missing.
"""
current_plan = PathPattern("build/plan/current")
"""Names of the manifests that jobs read, one a line."""
sample_round = PathPattern("build/samples/{sweep}/{name}", name="{round}")
"""A mark that all runs of a round of a sweep's sample are there."""
batch = PathPattern("build/batches/{name}.json", name="{batch}")
"""A mark that all points of a batch have their records."""


def image_stages(request: str) -> str:
    """Finished stages of an image that is built from a recipe, and how long each took."""
    return f"build/images/stages-{request}.json"


def set_aside_dir(engine: str, workload: str, point: str) -> str:
    """A run that is made once more, until the new one is there."""
    return f"build/set_aside/{engine}/{workload}/{point}"


def hash_note(place: str) -> str:
    """The last look at a large file of the user's, so that it is not hashed at every start."""
    return f"build/hashes/{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"


def source_dir(repository: str, commit: str) -> str:
    """A checkout made here; the directory is part of DNNMark's programs, so it never moves."""
    return f"{SOURCES}/{repository}-{commit[:12]}"


def log(*parts: str) -> str:
    """Log of a rule: its kind and what tells its jobs apart."""
    return "logs/" + "/".join(parts) + ".log"


# Snakemake's own -----------------------------------------------------------------------------------------
SNAKEMAKE = ".snakemake"


def snakemake(*parts: str) -> str:
    """Below the directory that Snakemake keeps its own state in: ``locks``, ``incomplete``, ``scripts``."""
    return "/".join((SNAKEMAKE, *parts))
