"""A few operations that stand for a set of networks and suites: found, checked, and written as a suite."""
