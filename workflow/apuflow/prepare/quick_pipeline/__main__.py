"""Adds the files of a gem5 to those that the quick pipeline was compared with.

    python -m apuflow.prepare.quick_pipeline PATH_OF_GEM5 NAME

After runs of both builds have written the same statistics (docs/development.md).
"""

from __future__ import annotations

import sys
from pathlib import Path

from apuflow.core.errors import ApuflowError
from apuflow.prepare import quick_pipeline


def main(arguments: list[str]) -> int:
    """The exit status."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        quick_pipeline.add(Path(arguments[0]), arguments[1])
    except ApuflowError as error:
        print(f"apuflow: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
