"""Integrals and formulas of units, compared with known values, and captions of their figures."""

import pytest
import torch

from bnnbench.reports.pages.site.units import UNITS, draw_units

BY_NAME = {unit.name: unit for unit in UNITS}


@pytest.mark.parametrize(
    ("name", "at", "mean", "variance"),
    [
        ("Heaviside", 3.0, 0.998650102, 0.998650102 * (1 - 0.998650102)),
        ("Logistic transform", 0.0, 0.5, 0.04337903586),
        ("Logistic transform", 3.0, 0.930676142, 0.004696196637),
        ("Logistic Bernoulli", 3.0, 0.930676142, 0.930676142 * (1 - 0.930676142)),
        ("ReLU", 0.0, 0.3989422804, 0.3408450569),
        ("Leaky ReLU, slope 0.1", -2.0, -0.1923583676, 0.01870929784),
    ],
)
def test_integrals_are_the_values_of_the_specification(name, at, mean, variance):
    band = BY_NAME[name].integrated(torch.tensor([at], dtype=torch.float64))
    assert band.mean[0] == pytest.approx(mean, abs=1e-6)
    assert band.std[0] ** 2 == pytest.approx(variance, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "at", "mean", "variance"),
    [
        ("Logistic Bernoulli", 3.0, 0.9325899903, 0.06286590028),
        ("Logistic transform", 3.0, 0.9325899903, 0.003161697134),
        ("Leaky ReLU, slope 0.1", -2.0, -0.1923583676, 0.01461661886),
    ],
)
def test_the_bands_are_by_the_papers_formulas(name, at, mean, variance):
    band = BY_NAME[name].propagated(torch.tensor([at], dtype=torch.float64))
    assert band.mean[0] == pytest.approx(mean, abs=1e-8)
    assert band.std[0] ** 2 == pytest.approx(variance, abs=1e-8)


def test_captions_say_which_formulas_are_exact():
    captions = {drawing.heading: drawing.caption for drawing in draw_units()}
    assert captions["Heaviside"] == "Mean exact, deviation exact"
    assert captions["ReLU"].startswith("Mean exact, deviation off by up to 0.1")
    assert captions["Logistic transform"].startswith("Mean off by up to 0.00")
