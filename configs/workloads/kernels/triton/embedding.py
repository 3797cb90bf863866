"""y[i] = table[token[i]]: a row of the table for each program."""

import triton
import triton.language as tl


@triton.jit
def embedding(token, table, y, columns, BLOCK: tl.constexpr):
    """One token."""
    i = tl.program_id(0)
    row = tl.load(token + i)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        tl.store(y + i * columns + j, tl.load(table + row * columns + j, j < columns), j < columns)
