"""The README's picture of the quickstart's report: its numbers, and the chart as a browser shows it.

``python data/draw.py`` writes both. Chromium makes the picture, so where there is none it stays as it is;
the numbers beside it tell which preview it is of.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import apuflow
from apuflow.campaign.campaign import Campaign
from apuflow.core.engines import PREVIEW_VERSION
from apuflow_analysis.figures.base import relative
from apuflow_analysis.report import SweepDescription, render

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/pictures/report.png"
NUMBERS = PICTURE.with_suffix(".json")
SWEEP = "quickstart"
_LOOK = ("format.js", "scale.js", "chart.js", "report.css")
_ONLY_CHART = "<style>body > :not(main), main > section:not(#explore), #share { display: none; }</style>"
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1100,960",
)


def table() -> pd.DataFrame:
    """What the preview says of the quickstart's points."""
    campaign = Campaign(ROOT)
    sweep = campaign.load(SWEEP)
    workloads, axes = campaign.workloads(sweep), dict(sweep.axes)
    frame: pd.DataFrame = apuflow.evaluate(workloads, axes, machine=sweep.machine, root=ROOT)
    return frame


def numbers(frame: pd.DataFrame) -> dict[str, Any]:
    """The preview's version, the hash of what makes the chart, and the largest speedup of each workload."""
    based, _ = relative(frame, "gpu_time")
    speedups = (based["_base"] / based["gpu_time"]).groupby(based["workload"]).max()
    files = (ROOT / "analysis/apuflow_analysis/report/templates" / name for name in _LOOK)
    code = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return {
        "preview": PREVIEW_VERSION,
        "look": code,
        "largest_speedups": {str(name): float(f"{value:.4g}") for name, value in speedups.items()},
    }


def take(frame: pd.DataFrame, browser: str) -> bytes:
    """The report's chart in a browser, as PNG."""
    with tempfile.TemporaryDirectory() as place:
        page, picture = Path(place) / "report.html", Path(place) / "report.png"
        render(SweepDescription(SWEEP), {f"{SWEEP}.csv": frame}, [], [], page)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</head>", f"{_ONLY_CHART}</head>"), encoding="utf-8")
        profile = f"--user-data-dir={place}/profile"
        command = [browser, *_FLAGS, profile, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return picture.read_bytes()


def write() -> None:
    """Write the picture and its numbers, where a browser is there."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"no chromium: {PICTURE.relative_to(ROOT)} is not made anew")
        return
    frame = table()
    picture = take(frame, browser)
    told = {**numbers(frame), "sha256": hashlib.sha256(picture).hexdigest()}
    PICTURE.write_bytes(picture)
    NUMBERS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
