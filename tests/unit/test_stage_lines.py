"""What a person sees of a call of Snakemake, told by Snakemake's own records."""

from __future__ import annotations

import io
import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from apuflow.plan.targets import result_lines
from snakemake_logger_plugin_apuflow.stage_lines import STAGES, LogHandler, StageLines


def handler(capture: io.StringIO, monkeypatch: pytest.MonkeyPatch, **settings: bool) -> LogHandler:
    monkeypatch.setattr("sys.stderr", capture)
    monkeypatch.setattr("sys.stdout", capture)
    names = ("printshellcmds", "nocolor", "debug_dag", "verbose", "show_failed_logs", "stdout", "dryrun")
    common: Any = SimpleNamespace(quiet=None, **{name: settings.get(name, False) for name in names})
    made = LogHandler(common, None)
    made.setFormatter(DefaultFormatter())
    return made


def tell(
    to: LogHandler, text: str | None, event: LogEvent | None = None, level: int = 20, **more: Any
) -> None:
    to.emit(logging.makeLogRecord({"msg": text, "levelno": level, "event": event, **more}))


def a_study(to: LogHandler) -> None:
    """What Snakemake 9.27 logs of a call with two points, a table and a report."""
    tell(to, "Building DAG of jobs...")
    tell(to, "Using shell: /usr/bin/bash")
    tell(to, "Job stats:", LogEvent.RUN_INFO, stats={"preview": 2, "table": 1, "figure": 1, "total": 4})
    for number, rule in enumerate(("preview", "preview", "table", "figure")):
        tell(to, "Select jobs to execute...")
        tell(to, "", LogEvent.JOB_INFO, jobid=number, rule_name=rule, rule_msg="m", reason="r", indent=False)
        tell(to, "Finished", LogEvent.JOB_FINISHED, job_id=number)
        tell(to, None, LogEvent.PROGRESS, done=number + 1, total=4)
    tell(to, "report: results/a/report.html", is_result=True)
    tell(to, "Complete log(s): /x/.snakemake/log/1.log")


def test_a_line_for_each_stage_and_at_the_end_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    a_study(handler(out, monkeypatch))
    assert out.getvalue().splitlines() == [
        "to do: preview (2), tables (1), figures (1)",
        "preview: 2 done",
        "tables: 1 done",
        "figures: 1 done",
        "report: results/a/report.html",
        "log: /x/.snakemake/log/1.log",
    ]


def test_warnings_failures_and_what_does_no_work_are_shown_as_snakemake_shows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    to = handler(out, monkeypatch)
    tell(to, "Nothing to be done (all requested files are present and up to date).")
    tell(to, "Job stats:", LogEvent.RUN_INFO, stats={"preview": 1, "total": 1})
    tell(to, "At least one job did not complete successfully.", level=logging.ERROR)
    said = out.getvalue()
    assert "Nothing to be done" in said and "did not complete" in said


def test_who_asks_for_all_of_it_gets_snakemakes_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    a_study(handler(out, monkeypatch, verbose=True))
    assert "Select jobs to execute..." in out.getvalue() and "4 of 4 steps (100%) done" in out.getvalue()


def test_on_a_terminal_the_last_line_is_written_anew() -> None:
    out = io.StringIO()
    lines = StageLines(out, live=True)
    lines.plan({"table": 2, "total": 2})
    for job in (1, 2):
        lines.begin(job, "table")
        lines.end(job)
    shown = [re.sub(r"\x1b\[K", "", text) for text in out.getvalue().split("\r")]
    assert "tables 0 of 2" in shown and "tables 1 of 2" in shown and shown[-1] == "tables: 2 done\n"


def test_hours_in_a_file_say_each_tenth_and_more_than_was_planned() -> None:
    """After a checkpoint Snakemake knows of runs that its plan does not have."""
    out = io.StringIO()
    lines = StageLines(out, live=False)
    lines.plan({"all": 1, "total": 1})
    for job in range(20):
        lines.begin(job, "simulate")
    for job in range(20):
        lines.end(job)
    said = out.getvalue().splitlines()
    assert said[1] == "runs on gem5: `apuflow status` follows them"
    assert said[2:] == [f"runs on gem5: {n} of 20" for n in range(2, 20, 2)] + ["runs on gem5: 20 done"]


def test_a_gem5_of_ones_own_is_not_announced_as_hours_of_compiling() -> None:
    out = io.StringIO()
    lines = StageLines(out, live=False)
    lines.plan({"own_gem5": 1, "total": 1})
    lines.begin(1, "own_gem5")
    lines.end(1)
    assert out.getvalue().splitlines() == ["to do: gem5 (yours) (1)", "gem5 (yours): 1 done"]


def test_every_rule_belongs_to_a_stage_and_snakemake_finds_the_logger() -> None:
    rules = {
        name
        for file in (ROOT / "workflow/rules").glob("*.smk")
        for name in re.findall(r"^(?:rule|checkpoint) (\w+):", file.read_text(), re.M)
    }
    assert rules == set(STAGES)
    found: Any = LoggerPluginRegistry().get_plugin("apuflow")
    assert found.log_handler is LogHandler


def test_lines_of_results_have_figures_and_tables_before_the_report() -> None:
    assert result_lines(["results/a/report.html", "all", "results/softmax_fwd.csv"]) == [
        "table: results/softmax_fwd.csv",
        "tables: results/a/*.csv",
        "report: results/a/report.html",
    ]
