"""What an upstream maintainer needs to know of a form that gem5 does not execute as the manual says."""

from __future__ import annotations

from typing import Final

from apuflow.conformance.assemble import Assembled, kernel_text
from apuflow.conformance.run import Judged
from apuflow.forms.rules import rule_of

_RESULTS: Final = {
    "wrong": "gem5 computes another result than the manual says.",
    "stops": "gem5 ends.",
    "right": "gem5 computes what the manual says.",
    "unknown": "The suite has no expected result for it.",
}


def page(each: Assembled, found: Judged, about: str, source: str, gfx: str) -> str:
    """A page in Markdown: the kernel, what goes in and out, gem5's function."""
    lines = [f"# {found.form}", "", _RESULTS[found.verdict], ""]
    words = " ".join(f"{word:#010x}" for word in each.words)
    rows = {
        "Instruction": f"`{found.text}`",
        "Encoding": f"{found.form.encoding.upper()}, words {words}",
        "Form": " ".join(found.form.features) or "registers alone",
        "gem5": about,
        "gem5's function": f"`{source}`" if source else "none of its name in the checkout",
        "gem5's message": f"`{found.message}`" if found.message else "",
    }
    if found.failure is not None:
        wrong = found.failure
        rows |= {
            "Smallest wrong result": wrong.place,
            "Operands": f"`{wrong.inputs}`",
            "gem5's value": f"`{wrong.got}`",
            "Expected": f"`{wrong.expected}`",
            "Wrong": wrong.lanes,
        }
        features = (*found.form.features, *(("special",) if wrong.special else ()))
        if rule := rule_of(found.form.encoding, found.form.instruction, features):
            rows |= {"What differs": f"gem5 {rule.gem5}. The GPU {rule.gpu}.", "Source": rule.by}
    lines += [f"- {name}: {value}" for name, value in rows.items() if value]
    lines += ["", _KERNEL.format(gfx=gfx), "", "```asm", kernel_text(each, gfx), "```", ""]
    return "\n".join(lines)


_KERNEL: Final = (
    "The kernel for {gfx}, in workgroups of one wavefront. Its arguments are pointers to the operands, to "
    "the results and to a buffer. The instruction stands as `.long`."
)
