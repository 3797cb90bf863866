"""Questions that the preview answers at once: on the command line, in Python, as a search of a space."""
