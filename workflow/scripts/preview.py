"""Rules preview and previews_of_SWEEP: the timing model over all points of workloads of a sweep."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.results.write import write_previews

with rule(snakemake):
    params = snakemake.params
    write_previews(Campaign(), params.sweep, params.workloads, snakemake.threads)
