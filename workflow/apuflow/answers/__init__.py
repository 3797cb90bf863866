"""Known answers: recorded statistics of ten small points, to compare a gem5 with."""
