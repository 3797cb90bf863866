"""``python -m apuflow.prepare.quick_pipeline GEM5 NAME``: add a gem5 to those compared."""

from apuflow.prepare.quick_pipeline import main

main()
