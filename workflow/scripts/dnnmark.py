"""Rule dnnmark: DNNMark's programs."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with rule(snakemake) as (output, log):
    stages.dnnmark(Toolset(snakemake.wildcards.release), output, log, snakemake.threads)
