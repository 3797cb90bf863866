"""What both packages stand on: errors, files, the record of a run. It imports nothing else of either."""
