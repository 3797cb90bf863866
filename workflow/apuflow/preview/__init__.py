"""The preview engine: a closed-form timing model of gem5's GCN3 GPU. See ``docs/preview.md``."""

from apuflow.preview.engine import kernels_frame, run

PREVIEW_VERSION = "2"
"""Part of every preview point's identity: changes whenever the model's numbers change."""
VERSION = PREVIEW_VERSION

__all__ = ["PREVIEW_VERSION", "VERSION", "kernels_frame", "run"]
