"""Rules gem5 and own_gem5: a gem5 for one build target, or the site's own."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with rule(snakemake) as (output, log):
    tools, target = Toolset(snakemake.wildcards.release), snakemake.wildcards.get("target")
    stages.gem5(tools, target, output, log, snakemake.threads)
