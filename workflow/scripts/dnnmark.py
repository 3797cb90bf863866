"""Rule dnnmark: DNNMark's programs."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.prepare import stages
from apuflow.prepare.tools import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.dnnmark(Toolset(smk.wildcards.release), Path(smk.output[0]), Path(smk.log[0]), smk.threads)
