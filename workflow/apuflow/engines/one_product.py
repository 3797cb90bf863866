"""One table of an engine has products by one kind of kernels: GPUs that cannot run the same are refused."""

from __future__ import annotations

from apuflow.configure.products import Decision
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.rocblas.tables import GPUS


class OneProduct:
    """Remembers of each engine whose kernels its first product runs, and on which GPU."""

    def __init__(self) -> None:
        self._first: dict[EngineName, tuple[str, Decision]] = {}

    def problem(self, engine: EngineName, gfx: str, decision: Decision) -> ConfigError | None:
        """What is wrong with a point that launches a product; None: nothing.

        Args:
            decision: for that GPU.
        """
        first_gfx, first = self._first.setdefault(engine, (gfx, decision))
        if first.products == decision.products:
            return None
        ran = {first.products: first_gfx, decision.products: gfx}
        return ConfigError(
            f"one table would hold matrix products by rocBLAS' own kernels ({ran['rocblas']}) and by this "
            f"project's stand-in ({ran['stand-in']}): rocBLAS' kernels run on {' and '.join(GPUS)} alone",
            key="products",
            value="rocblas",
            remedy="products: stand-in in the sweep (ask: products=stand-in), or a sweep for each GPU",
        )
