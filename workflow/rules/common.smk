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
    repository=r"gem5|resources|miopen",
    target=r"[A-Z0-9_]+",
    object=r"[^/]+",
    rows=r"[0-9a-f]{16}",
    database=r"[^/]+\.ukdb",
    bytes=r"[0-9]+",
