"""A few operations that represent a set of networks and suites: found, checked, and written as a suite."""
