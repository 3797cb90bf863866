"""From points to run records: gem5 and gem5-kernels one job per point, preview one job per workload."""


rule preview:
    """All points of a sweep's workload through the timing model. Milliseconds per point, on any machine."""
    input:
        configuration=campaign.preview_configuration,
    output:
        counters=paths.preview_counters(),
        record=paths.preview_record(),
    log:
        paths.log("preview", "{sweep}", "{workload}"),
    conda:
        "../envs/apuflow.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "preview engine: {wildcards.workload} of sweep {wildcards.sweep}"
    script:
        "../scripts/preview.py"
