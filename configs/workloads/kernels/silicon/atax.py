"""Reference of atax."""


def expected(buffers, parameters):
    """The product."""
    matrix = buffers["matrix"].reshape(parameters["n"], -1).astype(float)
    return {"out": matrix.T @ (matrix @ buffers["vector"])}
