"""The preview engine: a closed-form timing model of gem5's GCN3 GPU. See ``docs/preview.md``."""

from apuflow.core.engines import PREVIEW_RELEASE, PREVIEW_VERSION
from apuflow.preview.evaluate import RATES, columns, kernels_frame, run

VERSION = PREVIEW_VERSION

RELEASE = PREVIEW_RELEASE
"""The gem5 release that the model was made after."""

__all__ = ["RATES", "RELEASE", "VERSION", "columns", "kernels_frame", "run"]
