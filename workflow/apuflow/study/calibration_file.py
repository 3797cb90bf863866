"""Runs for a calibration, and what came of it in the release's file."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pandas as pd
import yaml

from apuflow.configure.loading import load_release, load_sweep
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION, SIMULATING
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.core.record import read_run
from apuflow.core.words import many
from apuflow.study.calibrate import Fit
from apuflow.study.score_runs import is_result_table, project_of, record_rows
from apuflow_analysis.tables.columns import WRONG
from apuflow_analysis.tables.records import COMPLETED

SWEEP: Final = "calibration"
MARK: Final = "# Written by apuflow calibrate"
_UNTRUE: Final = (WRONG, "another gem5")
"""How flags begin of runs that say nothing of the release."""


def sweep_of_release(release: str, root: Path) -> str:
    """The sweep whose runs calibrate a release: the shipped one, or a copy of it, which is written here."""
    if load_sweep(SWEEP, root).release == release:
        return SWEEP
    name = f"{SWEEP}_{release}"
    file = root / paths.sweep_file(name)
    if not file.is_file():
        text = (root / paths.sweep_file(SWEEP)).read_text(encoding="utf-8")
        text = re.sub(r"(?m)^release:.*$", f"release: {release}", text)
        gfx = load_release(release, root).gfx
        machine = next(each for each in ("apu-gfx801", "apu-gfx902") if each.removeprefix("apu-") in gfx)
        write_text(file, re.sub(r"(?m)^machine:.*$", f"machine: {machine}", text))
    return name


def proven_runs(release: str, tables: Sequence[Path]) -> tuple[pd.DataFrame, dict[str, str], Counter[str]]:
    """Rows to calibrate with, the hashes of their statistics by run, and why how many runs were left out.

    Raises:
        ConfigError: a table that is no result table with its runs beside it, or no run is left.
    """
    parts: list[pd.DataFrame] = []
    hashes, refused = dict[str, str](), Counter[str]()
    for file in tables:
        frame = pd.read_csv(file)
        if not is_result_table(frame):
            raise ConfigError(
                "not a table of this workflow's runs: nothing proves its numbers",
                file=file,
                remedy="give tables of engine gem5-kernels or gem5, with runs/ beside results/",
            )
        good = []
        for row in frame[frame["engine"].isin(SIMULATING)].to_dict("records"):
            name = f"{row['workload']}/{row['point']}"
            run = paths.run_dir(str(row["engine"]), str(row["workload"]), str(row["point"]))
            root = project_of(file, run)
            said = _refusal(row, release)
            if root is None or said:
                refused[said or "its run is not beside the table"] += 1
                continue
            found = read_run(root / run / "run.json").provenance.statistics_sha256
            if not found:
                refused["its record has no hash of the statistics"] += 1
                continue
            hashes[name] = found
            good.append(row)
        if good:
            parts.append(record_rows(file, pd.DataFrame(good)))
    if not parts:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in refused.items())
        raise ConfigError(
            f"no proven run of {release}",
            value=reasons or "the tables have no row of gem5",
            remedy=f"run sweep {SWEEP} on it",
        )
    return pd.concat(parts, ignore_index=True), hashes, refused


def _refusal(row: dict[str, object] | dict[object, object], release: str) -> str:
    """Why a row says nothing of a release; "" if it does."""
    row = {str(key): value for key, value in row.items()}
    if row["release"] != release:
        return f"of release {row['release']}"
    if row["status"] != COMPLETED:
        return f"status {row['status']}"
    flags = str(row.get("flags") or "").split("; ")
    return next((f"flag '{word}'" for word in _UNTRUE if any(flag.startswith(word) for flag in flags)), "")


def write_calibration(release: str, fit: Fit, hashes: dict[str, str], root: Path) -> Path:
    """Write what was fitted into the release's file, in the place of an earlier calibration.

    Raises:
        ConfigError: the file has a key ``preview`` of another origin.
    """
    file = root / paths.release_file(release)
    text = file.read_text(encoding="utf-8").partition(MARK)[0].rstrip() + "\n"
    if re.search(r"(?m)^preview:", text):
        raise ConfigError(
            "the release's file has constants that apuflow calibrate did not write",
            file=file,
            key="preview",
            remedy="remove them",
        )
    block = {
        "constants": asdict(fit.constants),
        "preview": PREVIEW_VERSION,
        "fitted": _rounded(fit.fitted.before, fit.fitted.after),
        "held_out": _rounded(fit.held_out.before, fit.held_out.after),
        "runs": {name: hashes[name] for name in fit.runs},
    }
    text += f"{MARK} {release}: {many(len(fit.runs), 'run')} of it. Do not edit.\n"
    text += yaml.safe_dump({"preview": block}, sort_keys=False, width=200)
    with tempfile.TemporaryDirectory(prefix="apuflow-calibrate-") as place:
        write_text(Path(place) / paths.release_file(release), text)
        load_release(release, Path(place))
    write_text(file, text)
    return file


def _rounded(before: float, after: float) -> dict[str, float]:
    return {"before": round(before, 4), "after": round(after, 4)}
