"""The grammar of gem5's statistics files: blocks, their rows, and what is damage."""
