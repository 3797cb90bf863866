"""Rules gem5 and own_gem5: a gem5 for one build target, or the site's own."""

from pathlib import Path

from apuflow import stages
from apuflow.steps import logged
from apuflow.toolset import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    target = smk.wildcards.get("target")
    stages.gem5(Toolset(smk.wildcards.release), target, Path(smk.output[0]), Path(smk.log[0]), smk.threads)
