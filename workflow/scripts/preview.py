"""Rule preview: the timing model over all points of a sweep's workload."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged
from apuflow.engines.preview_batch import write_batch

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    points = Campaign().batch(smk.wildcards.sweep, smk.wildcards.workload)
    write_batch(points, smk.output.counters, smk.output.record)
