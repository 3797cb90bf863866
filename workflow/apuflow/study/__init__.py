"""Questions about a whole study: its plan, retries, rows per kernel, scores, archives."""
