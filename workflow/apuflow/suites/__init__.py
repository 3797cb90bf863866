"""Benchmark suites and networks: tables, steps of an iteration, derived results."""
