"""Rule image: the container image of a release."""

from pathlib import Path

from apuflow import stages
from apuflow.steps import logged
from apuflow.toolset import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.image(Toolset(smk.wildcards.release), Path(smk.output[0]), Path(smk.log[0]))
