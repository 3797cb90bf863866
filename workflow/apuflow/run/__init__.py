"""Running gem5: the command, the run itself, and the proof that it finished."""
