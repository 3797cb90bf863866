"""Reference of spmv: row r has numbers in columns r, r + 1, ..."""

import numpy as np


def _columns(parameters):
    rows = np.arange(parameters["rows"])
    return (rows[:, None] + np.arange(parameters["per_row"])) % parameters["rows"]


def contents(parameters):
    """Where the numbers are."""
    begins = np.arange(parameters["rows"] + 1) * parameters["per_row"]
    return {"columns": _columns(parameters).astype("i4"), "begins": begins.astype("i4")}


def expected(buffers, parameters):
    """The product."""
    values = buffers["values"].reshape(parameters["rows"], -1)
    return {"out": (values * buffers["vector"][_columns(parameters)]).sum(axis=1)}
