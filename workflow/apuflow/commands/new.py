"""``apuflow new study NAME``: a commented sweep to start from."""

from __future__ import annotations

from pathlib import Path

import typer

STUDY = """\
# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json
# {name}: what this study asks, in a sentence or two.
#
#   apuflow plan {name}                                         # its points, and what they cost
#   snakemake --cores all results/{name}/softmax_fwd.csv        # one workload's table
#   snakemake --cores all results/{name}/report.html            # everything on one page
description: What {name} asks

# Who computes it: preview (a timing model: seconds, anywhere), gem5-kernels (the layers' kernels on gem5:
# minutes per point), gem5 (the whole DNNMark program on gem5: hours per point). Several make rows to compare.
engines: [preview]

release: v22.1         # gem5 release: a file of configs/gem5
machine: apu-gfx801    # a file of configs/machines

# Names or patterns of configs/workloads (apuflow workloads lists them); all: every one that the engines can
# run; - before a name leaves it out.
workloads: [softmax_fwd, pool_*]

# apu_se.py options at a fixed value, without their dashes. docs/configuration.md lists them all.
options:
  wfs-per-simd: 10

# What varies: every combination of these lists is a point. Layer keys of the networks stand under layer.
axes:
  num-compute-units: [4, 8, 16]
  layer: {{n: [10, 100]}}

# Lists that advance together instead of being combined: row 1 with row 1, row 2 with row 2.
# zip:
#   - num-tccs: [1, 2, 4]
#     tcc-size: [256kB, 512kB, 1MB]

# Combinations to leave out: all conditions of an entry hold.
# exclude:
#   - {{num-compute-units: 4, layer: {{n: 100}}}}

# Additions for some workloads.
# per_workload:
#   pool_*: {{layer: {{h: 64, w: 64}}}}

limits:
  max_points: 100000   # per workload
  wall_time: 7d        # per run: 90s, 30m, 12h, 7d
on_failure: strict     # strict: a failed point stops the table; record: its row says how it failed
"""


def register(app: typer.Typer) -> None:
    """Add ``apuflow new``."""
    new = typer.Typer(help="Write a file to start from.", no_args_is_help=True)

    @new.command()
    def study(
        name: str = typer.Argument(help="name of the sweep: letters, digits, dot, dash, underscore"),
        force: bool = typer.Option(False, help="overwrite an existing file"),
    ) -> None:
        """Write configs/sweeps/NAME.yaml, commented, ready to run on the preview engine."""
        path = write_study(name, Path(), force)
        typer.echo(f"{path}\nnext: apuflow plan {name}")

    app.add_typer(new, name="new")


def write_study(name: str, root: Path, force: bool = False) -> Path:
    """Write a new sweep file and return its path; ConfigError when the name cannot be used."""
    from apuflow.configure.base import NAME
    from apuflow.core import paths
    from apuflow.core.errors import ConfigError
    from apuflow.core.files import write_text

    if not NAME.match(name) or ".." in name or len(name) > 80:
        raise ConfigError(
            "not a usable name", value=name, remedy="letters, digits, dot, dash and underscore; at most 80"
        )
    path = root / paths.sweep_file(name)
    if path.exists() and not force:
        raise ConfigError(
            "a sweep of this name is there already", file=path, remedy="choose another name, or give --force"
        )
    write_text(path, STUDY.format(name=name))
    return path
