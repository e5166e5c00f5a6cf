"""Figures of a logistic unit: one of each approximation, with all curves inside the axes."""

import re

from bnnbench.reports.pages.site.logistic_unit import (
    BIASES,
    COARSE,
    COUNTS,
    HIGHEST,
    SAMPLED,
    TIMES,
    gallery_of_logistic_unit,
)
from bnnbench.reports.papers.logistic_unit import APPROXIMATIONS, LogisticUnit

GALLERY = gallery_of_logistic_unit()


def test_every_approximation_and_the_samples_have_a_figure():
    assert [drawing.heading for drawing in GALLERY.drawings] == [*APPROXIMATIONS, SAMPLED]
    identifiers = [re.findall(r'id="([^"]+)"', str(drawing.svg)) for drawing in GALLERY.drawings]
    every = [identifier for of_one in identifiers for identifier in of_one]
    assert len(every) == len(set(every))


def test_every_curve_is_inside_its_axes_and_captions_have_its_top():
    captions = {drawing.heading: drawing.caption for drawing in GALLERY.drawings}
    for name in APPROXIMATIONS:
        tops = [LogisticUnit(count, BIASES).divergence(name).max() for count in COUNTS]
        assert max(tops) < HIGHEST * (TIMES if name == COARSE else 1)
        assert captions[name] == f"At most {max(tops):.2g} bits"
