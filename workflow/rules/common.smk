"""What all rules share: which names a wildcard may take, and which inputs have no age.

Rules that state no memory or run time have the profile's `default-resources`. Each of them repeats `conda:`, because
`snakemake --lint` asks for it.
"""


def ageless(inputs, *names):
    """Inputs of an input function whose age means nothing, because what they hold is part of the output's name.

    A toolchain made anew repeats no run, and a clock that jumped back does not discard one that has just ended. Every
    input of what a run is made from has to be like this: Snakemake ends well and makes nothing when a job is repeated
    for the age of its input while those that follow it take its output as ancient.

    In a job's own process they are there, and Snakemake is kept from looking for what they are made from.

    With ``names`` the inputs of these names alone: a plan is written anew when runs have ended, and repeats no table.
    """

    def mark(file):
        return (
            ancient(file) if workflow.is_main_process else before_update(ancient(file))
        )

    def marked(wildcards):
        files = inputs(wildcards)
        if isinstance(files, dict):
            return {
                name: (
                    [mark(file) for file in each]
                    if name in names or not names
                    else each
                )
                for name, each in files.items()
            }
        return [mark(file) for file in files]

    return marked


def mine(inputs):
    """Files of the user's own: they are here, and storage does not have them."""
    if callable(inputs):
        return lambda wildcards: mine(inputs(wildcards))
    return [local(file) for file in inputs]


# Jobs on a cluster are only what takes long: builds and runs. The rest takes less than the start of a job, or needs
# the network, and runs where Snakemake does.
localrules:
    all,
    source,
    image,
    own_gem5,
    kernel_object,
    gemm_assembly,
    gemm_object,
    product_table,
    kernel_database,
    mmap,
    launcher,
    preview,
    table,
    suite_items,
    sample_round,
    sampled,
    figure,
    report,


wildcard_constraints:
    under=r"((?!figures/|items/)[^/]+/)?",
    suite=r"[^/.]+",
    workload=r"(?!sampled\.)[^/]+(?<!\.columns)",
    sweep=r"[^/]+",
    engine=r"gem5|gem5-kernels",
    point=r"[^/]+",
    figure=r"[^/]+",
    gfx=r"gfx[0-9a-f]+",
    release=r"[^/]+",
    repository=r"gem5|resources|miopen|rocblas|tensile",
    target=r"[A-Z0-9_]+",
    request=r"[0-9a-f]{8}",
    sources=r"[0-9a-f]{16}",
    table=r"[0-9a-f]{16}",
    object=r"(?!Cijk_A)[^/]+",
    gemm=r"Cijk_A[^/]+",
    assembly=r"Cijk_A[^/]+",
    rows=r"[0-9a-f]{16}",
    database=r"[^/]+\.ukdb",
    bytes=r"[0-9]+",
    batch=r"[0-9a-f]{16}",
    round=r"[0-9a-f]{16}",
