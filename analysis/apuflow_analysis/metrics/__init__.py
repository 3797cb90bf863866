"""Metrics: formulas over counters and machine parameters."""
