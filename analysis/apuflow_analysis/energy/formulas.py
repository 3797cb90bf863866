"""The energy of a run as formulas of metrics: by part, in all, and its product with time.

Of each part the lowest and the highest over the files of coefficients that cover it; their sums are the
interval of the whole, ``energy`` lies in its middle. None holds leakage, clocks, standby or the CPUs.
"""

from __future__ import annotations

from collections.abc import Sequence

from apuflow_analysis.energy.coefficients import PARTS, Source, shipped

GROUP = "energy"
LABEL = "relative; not validated on AMD"
JOULE = "relative J"
"""Unit: no energy is without its label."""
ENDS = ("low", "high")
GEM5 = "gem5"


def energy_columns(part: str | None = None) -> tuple[str, str]:
    """Names of the metrics of both ends; None: of all parts together."""
    stem = f"energy_{part}" if part is not None else "energy"
    return f"{stem}_low", f"{stem}_high"


def part_formula(part: str, end: str, sources: Sequence[Source]) -> str:
    """Joules of a part at one end of the interval; NaN where no file covers it."""
    found = [f"({text})" for source in sources if (text := source.formula(part)) is not None]
    text = f"{end}est({', '.join(found)})" if found else "nan"
    own = from_gem5(part)
    return f"1e-12 * {text if own is None else f'known({own}, {text})'}"


def from_gem5(part: str) -> str | None:
    """Picojoules of a part as gem5 knows them: the GPU's share of the DRAM's own; None: it knows none."""
    return "dram_command_energy * gpu_dram_share" if part == "dram" else None


def rows() -> list[list[str]]:
    """The metrics of energy, as rows of ``metrics.csv``."""
    sources = shipped()
    named = "files in analysis/apuflow_analysis/energy/coefficients"
    found = [
        _row(name, JOULE, part_formula(part, end, sources), f"{meaning}, {end}est of the files", named)
        for part, meaning in PARTS.items()
        for name, end in zip(energy_columns(part), ENDS, strict=True)
    ]
    for k, name in enumerate(energy_columns()):
        total = " + ".join(energy_columns(part)[k] for part in PARTS)
        found.append(
            _row(name, JOULE, total, f"dynamic energy of the GPU and its DRAM, {ENDS[k]} end", named)
        )
    found.append(_row("energy", JOULE, "(energy_low + energy_high) / 2", "the middle of the interval", named))
    for suffix in ("_low", "_high", ""):
        text = f"energy{suffix} * gpu_active_ticks / sim_freq"
        found.append(_row(f"edp{suffix}", f"{JOULE}*s", text, f"energy{suffix} times gpu_time", named))
    return found


def _row(name: str, unit: str, formula: str, meaning: str, source: str) -> list[str]:
    return [GROUP, name, unit, "0", "inf", formula, meaning, LABEL, source]
