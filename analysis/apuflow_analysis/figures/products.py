"""Labels that tell products by rocBLAS' own kernels from those by the stand-in, where a figure has both."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from apuflow.core.products import BOTH, joined
from apuflow_analysis.tables.columns import PRODUCTS


def engine_parts(engine: str, engines: Sequence[str], own: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """What a label says of the engine of some rows; nothing where all rows of the figure are alike.

    Args:
        engines: of the figure.
        own: the rows that the label is for.
        rows: all rows of the figure.
    """
    parts = [engine] if len(engines) > 1 else []
    if PRODUCTS in rows.columns and joined(rows[PRODUCTS]) == BOTH and (kinds := joined(own[PRODUCTS])):
        parts.append(f"products: {kinds}")
    return parts
