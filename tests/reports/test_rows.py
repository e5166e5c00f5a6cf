"""Values in rows: one far behind does not stretch the axis, but is written at its edge."""

import re

from bnnbench.reports.figures.rows import Row, draw_values
from bnnbench.reports.style.palette import styles

NAMES = ["A", "B", "C", "D", "E"]


def drawn(*centres, half=0.1):
    rows = [Row(m, c, c - half, c + half) for m, c in zip(NAMES, centres, strict=False)]
    return draw_values(rows, styles(NAMES), "x", "NLL (nats)").svg


def ticks(svg):
    texts = (text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return [float(text) for text in texts if re.fullmatch(r"\d+\.?\d*", text)]


def test_a_value_far_behind_is_written_at_the_edge():
    assert max(ticks(drawn(1.0, 1.1, 1.3, 1.4))) < 2
    far = drawn(1.0, 1.1, 1.3, 1.4, 600.0)
    assert max(ticks(far)) < 2
    assert "600 ▸" in far


def test_a_wide_interval_does_not_stretch_the_axis():
    assert max(ticks(drawn(1.0, 1.1, 1.3, 1.4, half=80.0))) < 3


def test_equal_values_are_drawn():
    assert "▸" not in drawn(1.0, 1.0, half=0.0)
