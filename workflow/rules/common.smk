"""What all rules share: which names a wildcard may take, and which inputs have no age."""


def ageless(inputs):
    """Inputs of an input function whose age means nothing, because what they hold is part of the output's name.

    A toolchain made anew repeats no run, and a clock that jumped back does not discard one that has just ended.
    """

    def marked(wildcards):
        files = inputs(wildcards)
        if isinstance(files, dict):
            return {
                name: [ancient(file) for file in each] for name, each in files.items()
            }
        return [ancient(file) for file in files]

    return marked


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
    asked=r"[0-9a-f]{8}",
    object=r"[^/]+",
    rows=r"[0-9a-f]{16}",
    database=r"[^/]+\.ukdb",
    bytes=r"[0-9]+",
