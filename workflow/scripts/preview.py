"""Rule preview: the timing model over all points of a workload of a sweep."""

from apuflow.plan.script import rule
from apuflow.results.write import write_preview

with rule(snakemake) as (counters, log):
    write_preview(snakemake.input.plan[0], counters, snakemake.output.record, snakemake.threads)
