"""The preview's errors against recorded runs and published results."""
