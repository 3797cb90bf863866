"""Rule simulate: one point on gem5."""

from apuflow.plan.job import run_one
from apuflow.plan.script import rule
from apuflow.run.packing import bundled

with rule(snakemake) as (record, log), bundled(record.parent, snakemake.log.get("bundle")):
    run_one(snakemake.input.plan[0], snakemake.wildcards.engine, snakemake.wildcards.point)
