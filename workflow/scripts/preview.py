"""Rule preview: the timing model over all points of a sweep's workload."""

from apuflow.campaign import Campaign
from apuflow.preview_batch import write_batch
from apuflow.steps import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    points = Campaign().points(smk.wildcards.sweep, smk.wildcards.workload, engine="preview")
    write_batch(points, smk.output.counters, smk.output.record)
