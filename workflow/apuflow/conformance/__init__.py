"""Every instruction of a GPU on a real gem5, beside what the interpreter computes."""
