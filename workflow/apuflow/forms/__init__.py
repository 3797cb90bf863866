"""Forms of instructions: their words, and what each gem5 makes of them."""
