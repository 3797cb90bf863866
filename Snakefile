"""apuflow: how DNN primitives scale on a GCN3 APU.

A target names a result, a sweep file names the experiment:

    snakemake --cores 8 results/softmax_fwd.csv              the default sweep, on gem5
    snakemake --cores 8 results/<sweep>/<workload>.csv       the sweep configs/sweeps/<sweep>.yaml
    snakemake --cores 8 results/<sweep>/report.html          all its tables and figures on one page
    snakemake --cores 8 results/<sweep>/figures/<name>.svg   one figure

Everything between sweep file and result is decided by apuflow.campaign; the rules only bind it.
"""

import sys

from apuflow.campaign import repairs
from apuflow.campaign.campaign import message_and_exit
from apuflow.campaign.rule_inputs import books
from apuflow.core import paths

registration = None
if workflow.is_main_process:
    registration = repairs.register()
    repairs.mend_times()
campaign, orders = books()
with message_and_exit():
    campaign.check_targets(sys.argv[1:])


include: "workflow/rules/common.smk"
include: "workflow/rules/toolchain.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/results.smk"


onsuccess:
    with message_and_exit():
        campaign.check_made(sys.argv[1:])


onstart:
    if workflow.local_exec:
        repairs.without_rate_limit(workflow.scheduler)
    elif registration:
        registration.jobs_elsewhere()
    with message_and_exit():
        orders.check_ready()


rule all:
    """The default target: the default sweep's report, on gem5."""
    default_target: True
    input:
        paths.report(paths.under(paths.DEFAULT_SWEEP)),
