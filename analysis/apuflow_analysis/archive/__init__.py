"""Archives of a study."""
