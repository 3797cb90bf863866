"""What runs need and is made once: sources, images, gem5, DNNMark; each with a record."""

from __future__ import annotations

from apuflow.prepare.dnnmark import DnnmarkRecord, build_dnnmark, existing_dnnmark
from apuflow.prepare.gem5 import Gem5Record, build_gem5, existing_gem5
from apuflow.prepare.images import ImagePlan, ImageRecord, first_image
from apuflow.prepare.records import read_record, write_record
from apuflow.prepare.sources import SourceRecord, fetch_source, use_checkout
from apuflow.prepare.unchanged import check_dnnmark, unchanged_gem5

__all__ = [
    "DnnmarkRecord",
    "Gem5Record",
    "ImagePlan",
    "ImageRecord",
    "SourceRecord",
    "build_dnnmark",
    "build_gem5",
    "check_dnnmark",
    "existing_dnnmark",
    "existing_gem5",
    "fetch_source",
    "first_image",
    "read_record",
    "unchanged_gem5",
    "use_checkout",
    "write_record",
]
