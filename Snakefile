"""apuflow: how DNN primitives scale on a GCN3 APU.

A target names a result, a sweep file names the experiment:

    snakemake --cores 8 results/softmax_fwd.csv              the default sweep, on gem5
    snakemake --cores 8 results/<sweep>/<workload>.csv       the sweep configs/sweeps/<sweep>.yaml
    snakemake --cores 8 results/<sweep>/report.html          all its tables and figures on one page
    snakemake --cores 8 results/<sweep>/figures/<name>.svg   one figure

Everything between sweep file and result is decided by apuflow.campaign; the rules only bind it.
"""

from apuflow.campaign.session import Session
from apuflow.core import paths

session = Session(workflow)


include: "workflow/rules/common.smk"
include: "workflow/rules/toolchain.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/results.smk"


onstart:
    session.start()


onsuccess:
    session.end()


rule all:
    """The default target: the default sweep's report, on gem5."""
    default_target: True
    input:
        paths.report(paths.under(paths.DEFAULT_SWEEP)),
