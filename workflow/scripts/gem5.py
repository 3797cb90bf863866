"""Rules gem5 and own_gem5: a gem5 for one build target, or the site's own."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    target = smk.wildcards.get("target")
    stages.gem5(Toolset(smk.wildcards.release), target, Path(smk.output[0]), Path(smk.log[0]), smk.threads)
