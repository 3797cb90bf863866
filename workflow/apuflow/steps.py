"""What every rule's script shares: output goes to the rule's log, a mistake is a message, no traceback."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from analysis.errors import AnalysisError
from apuflow.errors import ApuflowError


@contextlib.contextmanager
def logged(log: str | Path) -> Iterator[None]:
    """Send stdout and stderr of the body to the file ``log``; turn our errors into their message.

    Raises:
        SystemExit: with status 1 after any failure; the log holds the message (or, for a defect of ours, the
            traceback), and Snakemake shows it.
    """
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", buffering=1) as stream:
        try:
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield
        except (ApuflowError, AnalysisError) as error:
            print(error, file=stream)
            raise SystemExit(1) from None
        except Exception:
            traceback.print_exc(file=stream)
            print(f"unexpected error, see {path}", file=sys.stderr)
            raise SystemExit(1) from None
