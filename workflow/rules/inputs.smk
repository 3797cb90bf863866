"""What runs read: kernel objects and databases, the data file, the launcher. Seconds each, shared by all sweeps."""


rule kernel_object:
    """One MIOpen kernel, compiled once for all sweeps and compute unit counts that ask for it."""
    input:
        ageless(runs.kernels.inputs(paths.kernel_object())),
    output:
        paths.kernel_object(),
    log:
        paths.log("kernels", "{gfx}", "{object}"),
    priority: runs.input_priority(paths.kernel_object())
    conda:
        "../envs/apuflow.yaml"
    params:
        order=runs.kernels.made_from(paths.kernel_object()),
    message:
        "kernel {wildcards.object} for {wildcards.gfx}"
    script:
        "../scripts/kernel_object.py"


rule gemm_assembly:
    """One of rocBLAS' kernels as Tensile writes it, for all GPUs. Seconds."""
    input:
        ageless(runs.kernels.inputs(paths.kernel_assembly())),
    output:
        paths.kernel_assembly(),
    log:
        paths.log("kernels", "{assembly}"),
    priority: runs.input_priority(paths.kernel_assembly())
    conda:
        "../envs/apuflow.yaml"
    params:
        order=runs.kernels.made_from(paths.kernel_assembly()),
    message:
        "assembly of rocBLAS' {wildcards.assembly}"
    script:
        "../scripts/gemm_assembly.py"


rule gemm_object:
    """One of rocBLAS' kernels, changed for gem5 and assembled, once for all sweeps."""
    input:
        ageless(runs.kernels.inputs(paths.kernel_object(name="{gemm}"))),
    output:
        paths.kernel_object(name="{gemm}"),
    log:
        paths.log("kernels", "{gfx}", "{gemm}"),
    priority: runs.input_priority(paths.kernel_object(name="{gemm}"))
    conda:
        "../envs/apuflow.yaml"
    params:
        order=runs.kernels.made_from(paths.kernel_object(name="{gemm}")),
    message:
        "rocBLAS' kernel {wildcards.gemm} for {wildcards.gfx}"
    script:
        "../scripts/gemm_object.py"


rule product_table:
    """The table that the image's rocBLAS looks up the changed kernels of some products in. Seconds."""
    input:
        ageless(runs.kernels.inputs(paths.product_table())),
    output:
        paths.product_table(),
    log:
        paths.log("kernels", "rocblas-{table}"),
    priority: runs.input_priority(paths.product_table())
    conda:
        "../envs/apuflow.yaml"
    params:
        order=runs.kernels.made_from(paths.product_table()),
    message:
        "rocBLAS' table {output}"
    script:
        "../scripts/product_table.py"


rule kernel_database:
    """MIOpen's kernel database for exactly one set of rows, read back and verified."""
    input:
        ageless(runs.kernels.inputs(paths.kernel_database())),
    output:
        paths.kernel_database(),
    log:
        paths.log("kernels", "{release}", "{rows}", "{database}"),
    priority: runs.input_priority(paths.kernel_database())
    conda:
        "../envs/apuflow.yaml"
    params:
        rows=runs.kernels.database_keys,
    message:
        "kernel database {output}"
    script:
        "../scripts/kernel_database.py"


rule mmap:
    """The file of floats that DNNMark fills its tensors from, as large as the largest chunk of a point."""
    output:
        paths.mmap_file(),
    log:
        paths.log("inputs", "mmap-{bytes}"),
    priority: runs.input_priority(paths.mmap_file())
    conda:
        "../envs/apuflow.yaml"
    resources:
        runtime=30,
    message:
        "data file of {wildcards.bytes} bytes"
    script:
        "../scripts/data_file.py"


rule launcher:
    """The program of engine gem5-kernels that dispatches kernels without a runtime."""
    output:
        paths.launcher(),
    log:
        paths.log("inputs", "launcher-{sources}"),
    priority: runs.input_priority(paths.launcher())
    conda:
        "../envs/apuflow.yaml"
    message:
        "launcher {output}"
    script:
        "../scripts/launcher.py"
