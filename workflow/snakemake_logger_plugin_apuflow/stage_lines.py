"""What a person sees of a call of Snakemake: a line per stage, what went wrong, and where the results are.

Snakemake's own lines are in its log (``.snakemake/log``), and on the screen with ``--verbose``, ``--dry-run``
or ``--printshellcmds``. The package ``snakemake_logger_plugin_apuflow`` gives ``LogHandler`` to Snakemake.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Mapping
from typing import TextIO

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

STAGES: Mapping[str, str] = {
    "source": "sources",
    "image": "container image",
    "gem5": "gem5",
    "own_gem5": "gem5 (yours)",
    "dnnmark": "DNNMark",
    "kernel_object": "kernels",
    "gemm_assembly": "kernels",
    "gemm_object": "kernels",
    "product_table": "kernels",
    "kernel_database": "kernels",
    "mmap": "inputs",
    "launcher": "inputs",
    "preview": "preview",
    "simulate": "runs on gem5",
    "batch": "runs on gem5",
    "table": "tables",
    "suite_items": "items of suites",
    "sample_round": "rounds of the sample",
    "sampled": "sample",
    "figure": "figures",
    "report": "report",
}
"""Rules, and the stage that each belongs to. A rule that is not here is a stage of its own."""

_FOLLOWED = {
    "gem5": "hours of processor time; log: logs/toolchain",
    "runs on gem5": "`apuflow status` follows them",
}
_ALWAYS_SAID = ("Assuming unrestricted", "Building DAG", "Using shell", "Conda env", "Singularity containers")
_LOG = "Complete log"


def stage(rule: str) -> str:
    """The stage of a rule; empty for ``all``, which does nothing."""
    if rule in ("all", "no_such_result"):
        return ""
    return STAGES.get(rule, rule)


class StageLines:
    """Counts finished jobs by stage and writes a line for each stage that is done.

    Args:
        stream: where the lines go.
        live: its last line can be written anew, as on a terminal; else stages of hours say each tenth.
    """

    def __init__(self, stream: TextIO, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._total: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._stage_of: dict[int, str] = {}
        self._begun: Counter[str] = Counter()

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Jobs by rule; ``total`` is their sum."""
        for rule, count in jobs.items():
            if rule != "total" and stage(rule):
                self._total[stage(rule)] += count
        self.say("to do: " + ", ".join(f"{name} ({count})" for name, count in self._total.items()))

    def begin(self, job: int, rule: str) -> None:
        """A job starts. After a checkpoint there may be more of a stage than were planned."""
        name = stage(rule)
        if not name or job in self._stage_of:
            return
        self._stage_of[job] = name
        self._begun[name] += 1
        self._total[name] = max(self._total[name], self._begun[name])
        if self._begun[name] == 1 and name in _FOLLOWED:
            self.say(f"{name}: {_FOLLOWED[name]}")
        self._show()

    def end(self, job: int) -> None:
        """A job has ended well."""
        name = self._stage_of.get(job)
        if name is None:
            return
        self._done[name] += 1
        done, total = self._done[name], self._total[name]
        if done == total:
            self.say(f"{name}: {done} done")
        elif not self._live and name in _FOLLOWED and done * 10 // total > (done - 1) * 10 // total:
            self.say(f"{name}: {done} of {total}")
        self._show()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line back that is written anew."""
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _show(self) -> None:
        open_stages = [name for name in self._begun if self._done[name] < self._total[name]]
        if self._live and open_stages:
            text = ", ".join(f"{name} {self._done[name]} of {self._total[name]}" for name in open_stages)
            self._stream.write(f"\r\x1b[K{text[:79]}")
            self._stream.flush()


class LogHandler(LogHandlerBase):
    """Snakemake's interface for loggers that write to the terminal."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Called by the base class when the settings are there."""
        settings = self.common_settings
        stream = sys.stdout if settings.stdout else sys.stderr
        self._everything = any(
            (settings.dryrun, settings.verbose, settings.debug_dag, settings.printshellcmds)
        )
        self._running = False
        self._snakemake = ColorizingTextHandler(nocolor=settings.nocolor, stream=stream)
        self._lines = StageLines(stream, live=self._snakemake.can_color_tty())

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as Snakemake would, count it, or leave it to the log file."""
        event = getattr(record, "event", None)
        text = record.getMessage()
        if self._everything or record.levelno >= logging.WARNING:
            self._as_snakemake(record)
        elif event is LogEvent.RUN_INFO:
            self._running = True
            self._lines.plan(getattr(record, "stats", {}))
        elif event is LogEvent.JOB_INFO:
            self._lines.begin(record.__dict__["jobid"], record.__dict__["rule_name"])
        elif event is LogEvent.JOB_FINISHED:
            self._lines.end(record.__dict__["job_id"])
        elif event is None and getattr(record, "is_result", False):
            self._lines.say(text)
        elif event is None and text.startswith(_LOG):
            self._lines.say(f"log: {text.partition(': ')[2]}")
        elif event is None and not self._running and not text.startswith(_ALWAYS_SAID):
            self._as_snakemake(record)

    def close(self) -> None:
        """Leave the terminal with its cursor on an empty line."""
        self._lines.clear()
        super().close()

    def _as_snakemake(self, record: logging.LogRecord) -> None:
        self._lines.clear()
        self._snakemake.setFormatter(self.formatter)
        self._snakemake.emit(record)
