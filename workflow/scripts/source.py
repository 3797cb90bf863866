"""Rule source: a repository at the release's commit."""

from apuflow.plan.script import rule
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with rule(snakemake) as (output, log):
    stages.source(Toolset(snakemake.wildcards.release), snakemake.wildcards.repository, output)
