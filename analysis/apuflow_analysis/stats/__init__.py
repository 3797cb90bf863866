"""Reading gem5's ``stats.txt``."""
