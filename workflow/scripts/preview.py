"""Rule preview: the timing model over all points of a sweep's workload."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.engines.preview_batch import write_batch

with rule(snakemake):
    wildcards, output = snakemake.wildcards, snakemake.output
    points = Campaign().batch(wildcards.sweep, wildcards.workload)
    write_batch(points, output.counters, output.record)
