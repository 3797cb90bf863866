"""From statistics to named counters, the same for every engine."""
