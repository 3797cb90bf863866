"""The preview engine: a closed-form timing model of gem5's GCN3 GPU. See ``docs/preview.md``."""

from apuflow.core.engines import PREVIEW_VERSION
from apuflow.preview.evaluate import kernels_frame, run

VERSION = PREVIEW_VERSION

__all__ = ["VERSION", "kernels_frame", "run"]
