"""Workloads and suites made from other programs' models and dispatch lists."""
