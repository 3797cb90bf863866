"""Rule kernel_object: one compiled kernel."""

from pathlib import Path

from apuflow import stages
from apuflow.steps import logged
from apuflow.toolset import ObjectOrder

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    stages.compile_kernel(ObjectOrder(**smk.params.order), Path(smk.output[0]))
