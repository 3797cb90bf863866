"""Rule preview: the timing model over all points of a workload of a sweep."""

from apuflow.engines.preview_batch import write_batch
from apuflow.plan.manifest import Manifest
from apuflow.plan.script import rule

with rule(snakemake) as (counters, log):
    points = Manifest(snakemake.input.plan[0]).points()
    write_batch(points, counters, snakemake.output.record, snakemake.threads)
