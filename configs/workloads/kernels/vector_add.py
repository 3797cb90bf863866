"""Reference of vector_add.cl."""


def expected(buffers, parameters):
    """The sum of both."""
    return {"c": buffers["a"] + buffers["b"]}
