"""Methods that share a figure: each is a group of its drawing, a few are in colour and named."""

import itertools
import re

import pytest

from bnnbench.reports.figures.canvas import OWN, drawing
from bnnbench.reports.figures.curves import draw_few_samples
from bnnbench.reports.figures.labels import label
from bnnbench.reports.figures.methods import best_first, chosen, gid
from bnnbench.reports.style.palette import COLOURS, styles
from tests.reports.drawings import groups, root, texts
from tests.reports.shared_figures import CURVES, FIGURES, NAMES, STYLES

NO_ORDER = ("density", "cloud", "quantiles")
"""Figures whose best methods follow from draws or distances, not from `PLACES`."""
UNNAMED = {"ranks", "timings", "cloud", "density", "outputs"}
"""Figures whose methods are named only in rows or in the legend."""


@pytest.mark.parametrize("kind", FIGURES)
def test_every_method_is_a_group_with_its_name_and_colour(kind):
    drawn = FIGURES[kind](STYLES)
    assert set(drawn.methods) == set(NAMES)
    for method in NAMES:
        (first, *others) = groups(drawn.svg, method)
        assert {g.get("color") for g in (first, *others)} == {STYLES[method].colour}
        is_rest = {"rest" in g.get("class", "").split() for g in (first, *others)}
        assert is_rest == {method not in drawn.coloured}
        assert any("currentColor" in e.get("style", "") for e in first.iter())
    drawn_without_groups = re.sub(r'color="#\w+"', "", drawn.svg)
    assert not any(colour in drawn_without_groups for colour in COLOURS)
    assert OWN not in drawn.svg


@pytest.mark.parametrize("kind", FIGURES)
def test_the_best_and_the_plain_network_are_in_colour(kind):
    drawn = FIGURES[kind](STYLES)
    assert len(drawn.coloured) == 3
    assert "AdamW" in drawn.coloured
    assert "Class frequency" not in drawn.coloured
    if kind not in NO_ORDER:
        assert drawn.coloured == ("Best <b>", "Second", "AdamW")


@pytest.mark.parametrize("kind", sorted(FIGURES.keys() - UNNAMED))
def test_methods_in_colour_are_named_beside_their_curves_and_no_others(kind):
    drawn = FIGURES[kind](STYLES)
    named = {method: texts(drawn.svg, method) for method in NAMES}
    assert {m: [m] if m in drawn.coloured else [] for m in NAMES} == named


@pytest.mark.parametrize("kind", ["ranks", "timings"])
def test_names_of_rows_belong_to_their_methods(kind):
    svg = FIGURES[kind](STYLES).svg
    for method in NAMES:
        (row,) = groups(svg, method, "row")
        assert [text.text for text in row.iter("text")] == [method]
    assert not [g for g in root(svg).iter("g") if "label" in g.get("class", "").split()]


def test_a_figure_of_few_methods_has_all_of_them_in_colour():
    four = {m: CURVES[m] for m in ("Third", "Ensemble", "Class frequency", "Second")}
    drawn = draw_few_samples(four, [1, 8], styles(four), "x", "here", "error")
    assert set(drawn.coloured) == set(four)
    assert 'rest"' not in drawn.svg
    assert all(len(groups(drawn.svg, method, "band")) == 1 for method in four)


def test_three_of_many_are_chosen_with_or_without_a_plain_network():
    order = ["A", "B", "MAP", "C", "D"]
    assert chosen(order, order) == ("A", "B", "MAP")
    assert chosen(["A", "B", "C", "D", "E"], ["C", "A", "E", "B", "D"]) == ("C", "A", "E")
    assert chosen([*order, "SGD"], order) == ("A", "B", "MAP")  # one plain network
    assert chosen(order[:4], order) == tuple(order[:4])


def test_the_best_come_first_and_unknown_values_last():
    values = {"A": 2.0, "B": float("nan"), "C": 1.0}
    assert best_first(values) == ["C", "A", "B"]
    assert best_first(values, higher_is_better=True) == ["A", "C", "B"]


def test_labels_lie_in_the_axes_and_on_no_other_and_nearest_to_their_own_curve():
    heights = {"low": 0.1, "middle": 0.5, "high": 0.9}
    with drawing(2.0) as figure:
        axes = figure.subplots()
        curves = {m: axes.plot([0, 1], [y, y]) for m, y in heights.items()}
        axes.set(xlim=(0, 1), ylim=(0, 1))
        label(axes, curves, {method: gid(method, "label") for method in heights})
        boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
        frame = axes.get_window_extent()
        centres = {
            m: axes.transData.inverted().transform((box.x0, (box.y0 + box.y1) / 2))[1]
            for m, box in boxes.items()
        }
    assert boxes.keys() == heights.keys()
    assert all(frame.x0 <= b.x0 and b.x1 <= frame.x1 for b in boxes.values())
    assert all(frame.y0 <= b.y0 and b.y1 <= frame.y1 for b in boxes.values())
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes.values(), 2))
    for method, centre in centres.items():
        assert min(heights, key=lambda m: abs(heights[m] - centre)) == method
        assert abs(heights[method] - centre) > 0.02  # next to the line, not on it


def test_a_name_without_room_is_left_out():
    with drawing(1.0) as figure:
        axes = figure.subplots()
        curve = axes.plot([0, 1], [0, 1])
        label(axes, {"W" * 200: curve}, {"W" * 200: "label-w"})
        assert len(axes.texts) == 0
