"""Deep ensembles: the mixture of separately fitted members."""

from dataclasses import dataclass

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.marginal import Marginal
from tests.methods.problems import classification, images, regression, stream, streams

MEMBER = AdamW(epochs=3, batch_size=8)


@pytest.mark.parametrize("make", [regression, classification, images])
def test_it_is_the_mixture_of_its_members_fitted_separately(make):
    problem = make()
    prediction = (
        Ensemble(3, MEMBER).fit(problem, stream(0)).predict(problem.train.inputs, stream(1))
    )
    alone = [
        MEMBER.fit(problem, own).predict(problem.train.inputs, stream(1))
        for own in spawn(stream(0), 3)
    ]
    for name in vars(prediction):
        expected = torch.cat([getattr(member, name) for member in alone])
        assert torch.equal(getattr(prediction, name), expected)


def test_members_differ_and_diagnostics_are_their_average():
    posterior = Ensemble(3, MEMBER).fit(regression(), stream(0))
    stds = [member.diagnostics["noise_std"] for member in posterior.members]
    assert len(set(stds)) == 3
    assert posterior.diagnostics["noise_std"] == pytest.approx(sum(stds) / 3)


def test_members_that_draw_contribute_all_their_draws():
    problem = regression()
    posterior = Ensemble(2, Ivon(epochs=2, draws=4)).fit(problem, stream(0))
    means = posterior.predict(problem.train.inputs, stream(1)).means
    assert len(means.unique(dim=0)) == 8


@dataclass(frozen=True)
class SecondFails(Marginal):
    """A method whose every second fit fails."""

    def fit_many(self, problems, rngs):
        fits = super().fit_many(problems, rngs)
        return [InferenceDiverged("lost") if n % 4 == 1 else f for n, f in enumerate(fits)]


def test_a_diverged_member_makes_its_ensemble_diverge_and_no_other():
    fitted = Ensemble(2, SecondFails()).fit_many([regression(), regression(1)], streams(0, 1))
    assert isinstance(fitted[0], InferenceDiverged)
    assert str(fitted[0]) == "member 1 of 2: lost"
    assert not isinstance(fitted[1], InferenceDiverged)
    with pytest.raises(InferenceDiverged, match="member 1"):
        Ensemble(2, SecondFails()).fit(regression(), stream(0))
