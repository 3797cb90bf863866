"""The report of a sweep: one self-contained page."""

from apuflow_analysis.report.describe import SweepDescription
from apuflow_analysis.report.page import render

__all__ = ["SweepDescription", "render"]
