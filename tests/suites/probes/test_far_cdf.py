"""The cdf at the true function by position, computed again from the data's law."""

from typing import ClassVar

import numpy as np
import torch
from scipy import stats

from bnnbench.datasets.generated.curves import SineFar
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.suites.probes.far_cdf import FarCdf


class Line:
    """Predicts y = x / 2 with a deviation of 0.3, in raw units."""

    diagnostics: ClassVar = {}

    def __init__(self, dataset):
        self.scaling, self.target = dataset.scaling, dataset.target

    def predict(self, inputs, rng):
        mean = (self.scaling.invert(inputs.double()) / 2 - self.target.mean) / self.target.std
        variance = torch.full_like(mean[None], (0.3 / self.target.std) ** 2)
        return GaussianPredictive(mean[None], variance)


def test_each_position_has_the_cdf_at_the_law_of_the_sines():
    dataset = SineFar().load(0)
    measured = FarCdf().measure(Line(dataset), dataset, torch.Generator())
    x = np.array([one.traits.position for one in measured.values()])
    assert len(x) == len(set(x)) > 50
    assert np.abs(x).min() > 10
    error = 0.2 * np.sin(2 * np.pi * x) + 0.3 * np.sin(4 * np.pi * x)
    found = [one.scores["cdf_at_each"] for one in measured.values()]
    # Standardised inputs are in single precision.
    np.testing.assert_allclose(found, stats.norm.cdf(error / 0.3), atol=1e-5)
