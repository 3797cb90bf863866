"""From points to run records: gem5 and gem5-kernels one job per point, on a cluster also many points of seconds to a
job; preview one job per workload.
"""


rule preview:
    """All points of a sweep's workload through the timing model. Milliseconds per point, on any machine."""
    input:
        configuration=mine(session.campaign.preview_configuration),
    output:
        counters=paths.preview_counters(),
        record=paths.preview_record(),
    log:
        paths.log("preview", "{sweep}", "{workload}"),
    conda:
        "../envs/apuflow.yaml"
    params:
        sweep=lambda wildcards: wildcards.sweep,
        workloads=lambda wildcards: [wildcards.workload],
    message:
        "preview engine: {wildcards.workload} of sweep {wildcards.sweep}"
    script:
        "../scripts/preview.py"


for previews in session.sets("previews"):

    rule:
        name:
            previews.rule
        input:
            configuration=mine(
                session.campaign.set_configuration(previews.under, previews.names)
            ),
        output:
            counters=[
                paths.preview_counters(previews.sweep, each) for each in previews.names
            ],
            record=[
                paths.preview_record(previews.sweep, each) for each in previews.names
            ],
        log:
            paths.log("preview", previews.sweep, "all"),
        localrule: True
        conda:
            "../envs/apuflow.yaml"
        threads: 4
        params:
            sweep=previews.sweep,
            workloads=previews.names,
        message:
            "preview engine: sweep {params.sweep}"
        script:
            "../scripts/preview.py"


rule simulate:
    """One point on gem5: minutes to days. Its record exists only when the run is proven (or, in a recording sweep,
    when its failure is). Whatever can change its numbers is part of `{point}`; inputs are ageless (see `common.smk`)
    and needed only while the record is missing, so a toolchain made anew repeats no run.

    Snakemake removes the outputs of a job that failed or was cut short. A record appears whole or not at all; tries,
    statistics and evidence beside it have to survive, so they are no outputs where jobs share this directory. Where
    they do not, Snakemake carries them: a finished run's as an output, a failed run's as a log.
    """
    input:
        unpack(ageless(session.inputs.simulation_inputs)),
    output:
        **carried(paths.run_bundle()),
        record=protected(paths.run_record()),
    log:
        paths.log("simulate", "{engine}", "{workload}", "{point}"),
        **carried(paths.failed_bundle()),
    priority: session.inputs.simulation_priority
    conda:
        "../envs/apuflow.yaml"
    resources:
        mem_mb=session.inputs.simulation_memory,
        expected_mb=session.inputs.expected_memory,
        runtime=session.inputs.simulation_minutes,
    params:
        order=session.inputs.simulation_order,
    message:
        "{wildcards.engine}: {wildcards.workload} at {wildcards.point} (apuflow status follows it; log: {log[0]})"
    script:
        "../scripts/simulate.py"


rule batch:
    """Points of seconds on a cluster, one after the other in one job, where a job for each would take longer to start
    than to run. Each leaves its own record when it ends, and one that fails does not stop the others; the mark that
    all have one goes when the table is made.
    """
    input:
        ageless(session.inputs.batch_inputs),
    output:
        temp(paths.batch()),
    log:
        paths.log("batches", "{batch}"),
    conda:
        "../envs/apuflow.yaml"
    resources:
        mem_mb=session.inputs.batch_memory,
        runtime=session.inputs.batch_minutes,
    message:
        "a batch of points (apuflow status follows them; log: {log})"
    script:
        "../scripts/batch.py"
