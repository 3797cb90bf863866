"""Reference of embedding.py."""

import numpy as np


def contents(parameters):
    """Random tokens, and a table of normally distributed numbers, which is made if it is wanted."""
    numbers = np.random.default_rng(11)
    words, columns = parameters["words"], parameters["columns"]
    return {
        "token": numbers.integers(0, words, parameters["tokens"]),
        "table": lambda: numbers.standard_normal((words, columns)),
    }


def expected(buffers, parameters):
    """The rows of the tokens."""
    return {"y": buffers["table"].reshape(parameters["words"], -1)[buffers["token"]]}
