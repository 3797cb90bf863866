"""The preview engine: a closed-form timing model of gem5's GCN3 GPU. See ``docs/preview.md``."""

from apuflow.core import versions
from apuflow.preview.engine import kernels_frame, run

VERSION = PREVIEW_VERSION = versions.PREVIEW

__all__ = ["PREVIEW_VERSION", "VERSION", "kernels_frame", "run"]
