"""Published studies as files: what a paper says, the criterion of each statement, and its verdict here."""
