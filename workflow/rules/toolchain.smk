"""The toolchain of a gem5 release: sources, image, gem5, DNNMark. Each leaves a record of what it is, under a name that
says what the configuration asks for; so the age of a record means nothing.
"""


rule source:
    """A repository at the release's pinned commit (or the site's checkout). Minutes, by the network."""
    input:
        runs.tool_inputs("source-{repository}"),
    output:
        paths.tool_record(tool="source-{repository}"),
    log:
        paths.log("toolchain", "{release}", "source-{repository}-{request}"),
    conda:
        "../envs/apuflow.yaml"
    resources:
        runtime=60,
    message:
        "sources of {wildcards.repository} for gem5 {wildcards.release}"
    script:
        "../scripts/source.py"


checkpoint image:
    """The container image that the release's runs happen in: built, pulled or found. Its digest is part of every
    gem5 point's identity, so the points are known only after it.
    """
    input:
        ageless(runs.tool_inputs("image")),
    output:
        paths.tool_record(tool="image"),
    log:
        paths.log("toolchain", "{release}", "image-{request}"),
    conda:
        "../envs/apuflow.yaml"
    threads: lambda wildcards: runs.tools(wildcards.release).image_threads
    resources:
        mem_mb=lambda wildcards, threads: 1000 * max(2, threads),
        runtime=lambda wildcards: runs.tools(wildcards.release).image_minutes,
    message:
        "container image for gem5 {wildcards.release} (stages and their times: {log})"
    script:
        "../scripts/image.py"


rule gem5:
    """gem5.opt for one build target, compiled in the image. Hours of processor time: all cores that there are."""
    input:
        ageless(runs.tool_inputs("gem5-{target}")),
    output:
        paths.tool_record(tool="gem5-{target}"),
    log:
        paths.log("toolchain", "{release}", "gem5-{target}-{request}"),
    conda:
        "../envs/apuflow.yaml"
    threads: 64
    resources:
        mem_mb=lambda wildcards, threads: 2000 * threads,
        runtime=720,
    message:
        "compiling gem5 {wildcards.release} {wildcards.target} on {threads} cores (log: {log})"
    script:
        "../scripts/gem5.py"


rule own_gem5:
    """A gem5 that the site supplies, recorded as it is."""
    input:
        ageless(runs.tool_inputs("gem5")),
    output:
        paths.tool_record(tool="gem5"),
    log:
        paths.log("toolchain", "{release}", "gem5-{request}"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "gem5 of this site for release {wildcards.release}"
    script:
        "../scripts/gem5.py"


rule dnnmark:
    """DNNMark's programs, compiled in the image. Minutes."""
    input:
        ageless(runs.tool_inputs("dnnmark")),
    output:
        paths.tool_record(tool="dnnmark"),
    log:
        paths.log("toolchain", "{release}", "dnnmark-{request}"),
    conda:
        "../envs/apuflow.yaml"
    threads: 64
    resources:
        mem_mb=4000,
        runtime=120,
    message:
        "compiling DNNMark for gem5 {wildcards.release} (log: {log})"
    script:
        "../scripts/dnnmark.py"
