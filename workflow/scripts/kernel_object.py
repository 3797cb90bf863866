"""Rule kernel_object: one compiled kernel."""

from pathlib import Path

from apuflow.campaign.script import logged
from apuflow.prepare import stages
from apuflow.prepare.tools import ObjectOrder

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.compile_kernel(ObjectOrder(**smk.params.order), Path(smk.output[0]))
