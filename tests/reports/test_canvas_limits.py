"""Figures of numbers near the largest floating-point number."""

import numpy as np
import pytest

from bnnbench.reports.figures.canvas import drawing, svg


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("values", [(1e308, -1e308), (1.7e308, 1.0), (1.0, -1.7e308)])
def test_a_value_that_no_axis_reaches_costs_no_page(values):
    with drawing(2.0) as figure:
        axes = figure.subplots()
        axes.plot([0.0, 1.0], values)
        text = svg(figure, "huge", "a huge value")
    assert "<svg" in text
    assert np.isfinite(axes.get_ylim()).all()
