"""From points to run records: gem5 and gem5-kernels one job per point, preview one job per workload."""


rule preview:
    """All points of a sweep's workload through the timing model. Milliseconds per point, on any machine."""
    input:
        configuration=session.campaign.preview_configuration,
    output:
        counters=paths.preview_counters(),
        record=paths.preview_record(),
    log:
        paths.log("preview", "{sweep}", "{workload}"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "preview engine: {wildcards.workload} of sweep {wildcards.sweep}"
    script:
        "../scripts/preview.py"


rule simulate:
    """One point on gem5: minutes to days. Its record exists only when the run is proven (or, in a recording sweep,
    when its failure is). Whatever can change its numbers is part of `{point}`; inputs are ageless (see `common.smk`)
    and needed only while the record is missing, so a toolchain made anew repeats no run.
    """
    input:
        unpack(ageless(session.inputs.simulation_inputs)),
    output:
        protected(paths.run_record()),
    log:
        paths.log("simulate", "{engine}", "{workload}", "{point}"),
    conda:
        "../envs/apuflow.yaml"
    resources:
        mem_mb=session.inputs.simulation_memory,
        runtime=session.inputs.simulation_minutes,
    params:
        sweep=session.inputs.point_sweep,
        axes=session.inputs.point_axes,
    message:
        "{wildcards.engine}: {wildcards.workload} at {wildcards.point} (apuflow status follows it; log: {log})"
    script:
        "../scripts/simulate.py"
