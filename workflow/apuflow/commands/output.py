"""Tables of commands: printed for people, or as JSON with ``--json``; written with ``--csv``.

Every command that prints a table takes both options and hands its rows to ``give``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apuflow.core.files import write_csv

if TYPE_CHECKING:
    import pandas as pd

Json = Annotated[bool, typer.Option("--json", help="print the whole table as JSON: a list of rows")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="PATH", help="also write the whole table here")]


def give(
    table: pd.DataFrame | Sequence[Mapping[str, Any]],
    as_json: bool,
    csv: Path | None,
    show: Callable[[], object],
) -> None:
    """Print a table and write it where ``--csv`` says.

    Args:
        table: a frame, or rows with equal keys. It may have more rows and columns than people are shown.
        as_json: print it as JSON and nothing else; values that are not known are null.
        csv: the file to write.
        show: prints it for people.
    """
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))
    write_csv(csv, frame)
    if as_json:
        rows = [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        show()


def print_frame(frame: pd.DataFrame) -> None:
    """Print every column of a table, in blocks as wide as the terminal."""
    from apuflow.core.terminal import blocks, number, terminal_console

    console = terminal_console()
    rows = [[number(cell) for cell in row] for row in frame.itertuples(index=False)]
    console.print(blocks([str(name) for name in frame.columns], rows, 1, console.width))


def _plain(value: Any) -> Any:
    """A cell as JSON has it."""
    import pandas as pd

    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) else str(value)
