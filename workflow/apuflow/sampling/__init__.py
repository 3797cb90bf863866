"""Totals of suites from a sample of their operations."""
