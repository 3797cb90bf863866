"""Rule kernel_database: a database from its objects."""

from pathlib import Path

from apuflow.miopen.database import build_database
from apuflow.plan.script import rule

with rule(snakemake) as (output, log):
    keys = [tuple(key) for key in snakemake.params.rows]
    build_database(output, dict(zip(keys, map(Path, snakemake.input), strict=True)))
