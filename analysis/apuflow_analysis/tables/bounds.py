"""What can limit a point, as the column ``bound`` names it: words for figures and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """One limit.

    Attributes:
        label: as short as a cell of a table.
        meaning: for a legend.
        metrics: how busy that unit is: of these metrics the first that a row has.
    """

    label: str
    meaning: str
    metrics: tuple[str, ...] = ()


BOUNDS: Mapping[str, Bound] = {
    "valu": Bound("VALU", "vector ALUs", ("valu_utilization",)),
    "salu": Bound("SALU", "scalar ALU: scalar instructions, branches, waits", ("salu_utilization",)),
    "lds": Bound("LDS", "LDS: bank conflicts and its bus", ("lds_utilization", "lds_issue_utilization")),
    "vmem": Bound("memory issue", "issue of vector memory instructions", ("vmem_utilization",)),
    "tokens": Bound(
        "tokens", "coalescer tokens: vector memory instructions in flight", ("token_utilization",)
    ),
    "tlb": Bound("TLB walks", "page walks, one after the other", ("walk_utilization",)),
    "tcp_link": Bound(
        "TCC to TCP", "links that carry lines from the TCC to the TCPs", ("l2_return_utilization",)
    ),
    "tcc_link": Bound(
        "TCC link",
        "links into the TCC banks, from TCPs and directories",
        ("tcc_link_utilization", "l2_utilization", "l2_link_utilization"),
    ),
    "directory_link": Bound(
        "memory link", "link between the GPU and the directory", ("memory_link_utilization",)
    ),
    "dram": Bound(
        "DRAM",
        "DRAM: its bus and the rows that it opens",
        ("dram_busy_utilization", "dram_utilization", "gpu_dram_utilization"),
    ),
    "line": Bound("one line", "stores of many workgroups to the same line, one after the other"),
    "latency": Bound("latency", "latency: no unit is busy for 60 % of the time"),
}
"""By the name in the column, the parts of a compute unit first. Units are those of the preview's model."""
