"""The report of a sweep: one self-contained page."""

from analysis.report.describe import SweepDescription
from analysis.report.page import render

__all__ = ["SweepDescription", "render"]
