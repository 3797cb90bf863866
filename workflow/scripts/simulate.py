"""Rule simulate: one point on gem5."""

from apuflow.plan.job import run_one
from apuflow.plan.script import rule

with rule(snakemake):
    run_one(snakemake.input.plan[0], snakemake.wildcards.engine, snakemake.wildcards.point)
