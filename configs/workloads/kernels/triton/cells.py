"""A step of recurrent cells, element by element, behind the products of the input and of the state.

Gates of a sequence lie as PyTorch has them: of LSTM input, forget, cell, output; of GRU reset, update, new.
MODE: 0 tanh, 1 ReLU, 3 GRU, 4 LSTM. a has the gates of the input, b those of the state, biases included.
"""

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """2 / (1 + exp(-2 x)) - 1."""
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def gate(a, b, at, inside):
    """The sum of a gate's two parts."""
    return tl.load(a + at, inside, other=0.0).to(tl.float32) + tl.load(b + at, inside, other=0.0).to(
        tl.float32
    )


@triton.jit
def cell(a, b, state, y, memory, n, hidden, MODE: tl.constexpr, BLOCK: tl.constexpr):
    """A block of a state of n elements: hidden of each sequence."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    if MODE < 3:
        v = gate(a, b, i, inside)
        r = tanh(v) if MODE == 0 else tl.maximum(v, 0.0)
    else:
        at = i // hidden * (MODE * hidden) + i % hidden
        first = sigmoid(gate(a, b, at, inside))
        second = sigmoid(gate(a, b, at + hidden, inside))
        before = tl.load(state + i, inside, other=0.0).to(tl.float32)
        if MODE == 3:
            new = tl.load(a + at + 2 * hidden, inside, other=0.0).to(tl.float32)
            new += first * tl.load(b + at + 2 * hidden, inside, other=0.0).to(tl.float32)
            new = tanh(new)
            r = new + second * (before - new)
        else:
            kept = second * before + first * tanh(gate(a, b, at + 2 * hidden, inside))
            tl.store(memory + i, kept, inside)
            r = sigmoid(gate(a, b, at + 3 * hidden, inside)) * tanh(kept)
    tl.store(y + i, r, inside)
