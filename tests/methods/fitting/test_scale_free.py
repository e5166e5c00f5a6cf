"""Targets of extreme scales, by methods made for standardised ones."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods import METHODS, method_type
from bnnbench.suites.check.small import quick
from tests.methods.problems import regression, stream

LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("dvi", "message_passing")]
NAMES = ["moment_propagation", "backprop", "graves_vi", *LONG]


@pytest.mark.parametrize("name", ["moment_propagation", LONG[0]])
def test_problems_fitted_together_have_each_the_noise_of_their_own_scale(name):
    plain = regression(rows=30)
    problems = [
        replace(
            plain,
            train=Split(plain.train.inputs, plain.train.targets * factor),
            likelihood=Gaussian(3000.0),
        )
        for factor in (1e4, 1e5)
    ]
    method = quick(method_type(METHODS[name])())
    together = method.fit_many(problems, [stream(1), stream(2)])
    for seed, (problem, posterior) in enumerate(zip(problems, together, strict=True), 1):
        alone = method.fit(problem, stream(seed))
        assert posterior.diagnostics.get("noise_std", 3000.0) == pytest.approx(3000.0)
        both = [p.predict(plain.train.inputs, stream(3)) for p in (posterior, alone)]
        torch.testing.assert_close(both[0].variance, both[1].variance, rtol=1e-3, atol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("factor", "noise_std"), [(1e8, None), (1e-8, 0.3)])
def test_predictions_have_the_scale_of_the_targets(name, factor, noise_std):
    plain = regression(rows=30)
    targets, inputs = plain.train.targets.double(), plain.train.inputs
    mean, std = targets.mean(), targets.std(correction=0)
    train = Split(inputs, ((targets - mean) / std).float())
    standardised = replace(plain, train=train, likelihood=Gaussian(noise_std))
    known = None if noise_std is None else noise_std * float(std) * factor
    train = Split(inputs, (targets * factor).float())
    scaled = replace(plain, train=train, likelihood=Gaussian(known))
    method = quick(method_type(METHODS[name])())
    one, two = (method.fit(problem, stream(1)) for problem in (standardised, scaled))
    first, second = (posterior.predict(inputs, stream(2)) for posterior in (one, two))
    expected = first.rescaled(float(mean) * factor, float(std) * factor)
    torch.testing.assert_close(second.mean, expected.mean, rtol=1e-3, atol=1e-3 * factor)
    torch.testing.assert_close(second.variance, expected.variance, rtol=1e-2, atol=0)
    if "noise_std" in one.diagnostics:
        noise = one.diagnostics["noise_std"] * float(std) * factor
        assert two.diagnostics["noise_std"] == pytest.approx(noise, rel=1e-2)
