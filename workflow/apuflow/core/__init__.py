"""What both packages use: errors, files, the run record. It imports nothing else of either."""
