"""Reference of bicg."""


def expected(buffers, parameters):
    """Both products."""
    matrix = buffers["matrix"].reshape(parameters["n"], -1).astype(float)
    return {"q": matrix @ buffers["p"], "s": matrix.T @ buffers["r"]}
