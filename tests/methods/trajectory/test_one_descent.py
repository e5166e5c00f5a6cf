"""Methods on one shared descent: equal to the methods by themselves."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.one_descent import OneDescent, OneDescentPosterior
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.swag import Swag
from tests.methods.problems import classification, regression, stream, streams

DESCENT = Descent(0.02, 0.9, 1e-3, epochs=9, batch_size=8, start=1 / 3)
USES = (
    LastIterate(DESCENT),
    Swag(DESCENT, rank=3, draws=4),
    Swag(DESCENT, rank=0, draws=4),
    PcaSlices(DESCENT, rank=2, deviations=3, draws=4),
    PcaVi(DESCENT, rank=2, deviations=3, draws=4, epochs=2),
)


@pytest.mark.parametrize("use", USES)
def test_a_use_has_the_weights_of_the_method_by_itself(use):
    problems = [regression(0), regression(1)]
    alone = use.fit_many(problems, streams(3, 4))
    for shared in (OneDescent(DESCENT, use, deviations=5), OneDescent(DESCENT, use, deviations=3)):
        together = shared.fit_many(problems, streams(3, 4))
        for one, other in zip(together, alone, strict=True):
            assert isinstance(one, OneDescentPosterior)
            assert isinstance(other, NetworkPosterior)
            assert torch.equal(one.posterior.weights, other.weights)


@pytest.mark.parametrize("use", USES)
def test_a_use_of_another_ones_descent_equals_its_own(use):
    first = OneDescent(DESCENT, LastIterate(DESCENT)).fit(regression(), stream(3))
    own = OneDescent(DESCENT, use)
    shared, mine = own.from_fit(first), own.fit(regression(), stream(3))
    assert isinstance(shared, OneDescentPosterior)
    assert isinstance(mine, OneDescentPosterior)
    assert torch.equal(shared.posterior.weights, mine.posterior.weights)


def test_one_gaussian_has_the_moments_of_the_mixture():
    mixture = OneDescent(DESCENT, USES[1]).fit(regression(), stream(3))
    gaussian = replace(OneDescent(DESCENT, USES[1]), gaussian=True).from_fit(mixture)
    inputs = regression(7).train.inputs
    several, one = (p.predict(inputs, stream(1)) for p in (mixture, gaussian))
    assert isinstance(several, GaussianPredictive)
    assert isinstance(one, GaussianPredictive)
    means, variances = several.means.double(), several.variances.double()
    assert len(means) == 4
    squares = (variances + means**2).mean(0)
    torch.testing.assert_close(one.means[0], means.mean(0))
    torch.testing.assert_close(one.variances[0], squares - means.mean(0) ** 2)


def test_classes_have_no_gaussian():
    with pytest.raises(Unsupported, match="needed real targets"):
        OneDescent(DESCENT, USES[1], gaussian=True).fit(classification(), stream(1))


def test_a_method_with_another_descent_is_refused():
    other = Swag(replace(DESCENT, learning_rate=0.03))
    with pytest.raises(ValueError, match="needs the method's descent to be its own"):
        OneDescent(DESCENT, other)
    with pytest.raises(ValueError, match="at least 20"):
        OneDescent(DESCENT, Swag(DESCENT), deviations=5)
