"""Read what the engines wrote and show it: statistics, counters, metrics, tables, figures, report."""
