"""A report's section on a sample: totals with their interval, what was simulated, the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow_analysis.report.describe import read_csv

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Sample:
    """An iteration of which some operations were simulated.

    Attributes:
        total: its row in the table of totals.
        simulated: operations that were chosen and simulated, those with the most cycles first.
        audit: operations that were drawn at random and simulated, in the same order.
    """

    total: Mapping[str, Any]
    simulated: Rows
    audit: Rows


def load_samples(files: Sequence[str | Path]) -> tuple[Sample, ...]:
    """The samples of a sweep.

    Args:
        files: table of the operations and of the totals, CSV; none: no samples.

    Raises:
        AnalysisError: one of them cannot be read.
    """
    if not files:
        return ()
    members, totals = (read_csv(file, "table of a sample") for file in files)
    return tuple(_sample(total, members) for total in totals.to_dict("records"))


def _sample(total: Mapping[Any, Any], members: pd.DataFrame) -> Sample:
    at = "" if pd.isna(total["at"]) else total["at"]
    own = members[
        (members["suite"] == total["suite"])
        & (members["engine"] == total["engine"])
        & (members["at"].fillna("") == at)
    ]
    order = (own["measured"] * own["repeats"]).sort_values(ascending=False, kind="stable").index
    rows = own.loc[order]
    return Sample(
        {**total, "at": at},
        rows[rows["origin"] == "measured"].to_dict("records"),
        rows[rows["origin"] == "audit"].to_dict("records"),
    )
