"""Rule image: the container image of a release."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with rule(snakemake) as (output, log):
    stages.image(Toolset(snakemake.wildcards.release), output, log, snakemake.threads)
