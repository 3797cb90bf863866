"""What all rules share: which names a wildcard may take."""


wildcard_constraints:
    under=r"((?!figures/)[^/]+/)?",
    workload=r"[^/]+(?<!\.columns)",
    sweep=r"[^/]+",
    engine=r"gem5|gem5-kernels",
    point=r"[^/]+",
    figure=r"[^/]+",
    gfx=r"gfx[0-9a-f]+",
    release=r"[^/]+",
