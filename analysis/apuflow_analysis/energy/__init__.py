"""Energy from counters: files of published coefficients, and the interval over them."""
