"""Two gem5s side by side: which counters and which instructions changed, and since which commit."""
