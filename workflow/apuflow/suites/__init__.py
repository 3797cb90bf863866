"""Benchmark suites and networks: tables, what one iteration of them runs, what follows from it."""
