"""Tables of a study's points, and what is read from them."""
