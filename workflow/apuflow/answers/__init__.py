"""Known answers: recorded statistics of ten small points, and what differs from them on another gem5."""
