"""The preview against gem5."""

from __future__ import annotations

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from apuflow_analysis.figures.comparisons import scatter


def test_titles_of_panels_do_not_collide() -> None:
    """The longest names of primitives that are recorded, side by side."""
    names = [
        f"{name}_{way}"
        for name in ("bn_spatial", "lrn_within", "activation", "soft_relu")
        for way in ("fwd", "bwd")
    ]
    runs = pd.DataFrame({"primitive": names, "gpu_cycles": 1e5, "predicted": 1.02e5})
    figure = scatter(runs).figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    written = [text for text in figure.findobj(Text) if text.get_text() in names]
    boxes = [text.get_window_extent(renderer) for text in written]
    assert len(boxes) == len(names)
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])
