"""From points to run records: gem5 and gem5-kernels one job per point, on a cluster also many points of seconds to a
job; preview one job per workload.
"""


rule preview:
    """All points of a sweep's workload through the timing model. Milliseconds per point, on any machine."""
    input:
        plan=ageless(runs.preview_plan),
        configuration=mine(
            lambda wildcards: campaign.configuration(
                campaign.load(wildcards.sweep), wildcards.workload
            )
        ),
    output:
        counters=paths.preview_counters(),
        record=paths.preview_record(),
    log:
        paths.log("preview", "{sweep}", "{workload}"),
    threads: runs.preview_threads
    message:
        "preview engine: {wildcards.workload} of sweep {wildcards.sweep}"
    run:
        session.run("preview", log, input=input, output=output, threads=threads)


rule simulate:
    """One point on gem5: minutes to days. Its record exists only when the run is proven (or, in a recording sweep,
    when its failure is). Whatever can change its numbers is part of `{point}`; inputs are ageless (see `common.smk`)
    and needed only while the record is missing, so a toolchain made anew repeats no run.

    Snakemake removes the outputs of a job that failed or was cut short. A record appears whole or not at all; tries,
    statistics and evidence beside it have to survive, so they are no outputs. Where jobs do not share this directory,
    Snakemake carries them as a log, which it keeps of every job.
    """
    input:
        unpack(ageless(runs.job_inputs)),
    output:
        record=protected(paths.run_record()),
    log:
        paths.log("simulate", "{engine}", "{workload}", "{point}"),
        **({"bundle": paths.run_bundle()} if session.storage else {}),
    priority: runs.priority
    conda:
        "../envs/apuflow.yaml"
    resources:
        mem_mb=runs.job_memory,
        expected_mb=runs.expected_memory,
        runtime=runs.job_minutes,
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
        unpack(ageless(runs.job_inputs)),
    output:
        temp(paths.batch()),
    log:
        paths.log("batches", "{batch}"),
    conda:
        "../envs/apuflow.yaml"
    resources:
        mem_mb=runs.job_memory,
        runtime=runs.job_minutes,
    message:
        "a batch of points (apuflow status follows them; log: {log})"
    script:
        "../scripts/batch.py"
