"""Belief matching, by quadrature, torch's Dirichlet, and the exact posterior of counts."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch.distributions import Dirichlet, kl_divergence

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.belief_matching import BeliefMatching, belief_loss
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.sgd import Sgd
from tests.methods.problems import classification, regression, stream


@pytest.mark.parametrize("weight", [0.01, 1.0])
@pytest.mark.parametrize("alpha", [(0.3, 2.5), (4.0, 1.2)])
def test_the_loss_of_two_classes_is_the_bound_by_quadrature(alpha, weight):
    belief, prior = stats.beta(*alpha), stats.beta(1.7, 1.7)
    fit, divergence = (
        integrate.quad(lambda p, f=f: belief.pdf(p) * f(p), 0, 1, limit=200)[0]
        for f in (np.log, lambda p: belief.logpdf(p) - prior.logpdf(p))
    )
    outputs = torch.tensor(alpha, dtype=torch.float64).log()[None, None]
    (loss,) = belief_loss(outputs, torch.tensor([[0]]), weight, 1.7).flatten().tolist()
    assert loss == pytest.approx(weight * divergence - fit, abs=1e-6)


def test_the_divergence_agrees_with_torch():
    outputs = torch.randn(2, 5, 4, generator=stream(0), dtype=torch.float64)
    targets = torch.randint(4, (2, 5), generator=stream(1))
    belief, prior = Dirichlet(outputs.exp()), Dirichlet(torch.full((4,), 0.6).double())
    expected = kl_divergence(belief, prior.expand(belief.batch_shape))
    with_it, twice = (belief_loss(outputs, targets, weight, 0.6) for weight in (1.0, 2.0))
    torch.testing.assert_close(twice - with_it, expected)


@pytest.mark.long
@pytest.mark.parametrize(("weight", "prior"), [(0.25, 1.0), (1.0, 0.5)])
def test_at_the_optimum_the_belief_is_the_prior_plus_counts(weight, prior):
    """Rows that differ only in their class: the exact posterior of 1/λ of them."""
    inputs = torch.eye(2, dtype=torch.float64).repeat_interleave(4, 0)
    targets = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2])
    problem = Problem(Split(inputs, targets), Categorical(3), (Linear(3),))
    training = AdamW(learning_rate=0.05, weight_decay=0.0, epochs=1500, batch_size=8)
    posterior = BeliefMatching(weight, prior, training).fit(problem, stream(0))
    outputs = posterior.network(posterior.weights, torch.eye(2).double()[None])[0]
    counts = torch.tensor([[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]).double() / weight
    torch.testing.assert_close(outputs.exp(), prior + counts, rtol=0.02, atol=0.01)
    predicted = posterior.predict(torch.eye(2).double(), stream(1)).mixture_log_probs.exp()
    exact = (prior + counts) / (3 * prior + 1 / weight)
    torch.testing.assert_close(predicted, exact, rtol=0, atol=0.01)


@pytest.mark.parametrize("training", [AdamW(batch_size=64), Sgd(batch_size=20)])
def test_with_the_weight_of_function_space_free_outputs_predict_as_smoothed_labels(training):
    method = BeliefMatching.matching_function_space(training)
    smoothed = LabelSmoothing.matching_function_space(training, classes=10)
    sure = (1 + 1 / method.divergence_weight) / (10 + 1 / method.divergence_weight)
    assert method.training == training
    assert sure == pytest.approx(1 - smoothed.share + smoothed.share / 10)


def test_large_outputs_keep_a_finite_gradient():
    outputs = torch.tensor([[[60.0, -60.0, 0.0]]], requires_grad=True)
    loss = belief_loss(outputs, torch.tensor([[1]]), 0.01, 1.0).sum()
    (gradient,) = torch.autograd.grad(loss, outputs)
    assert loss.isfinite()
    assert gradient.isfinite().all()


def test_a_fit_that_ends_far_worse_than_by_chance_has_diverged():
    method = BeliefMatching(training=Sgd(learning_rate=1e4, epochs=3, weight_decay=0.0))
    with pytest.raises(InferenceDiverged):
        method.fit(classification(), stream(0))


def test_regressions_and_weights_of_nothing_are_refused():
    with pytest.raises(Unsupported, match="BeliefMatching needed classes"):
        BeliefMatching().fit(regression(), stream(0))
    with pytest.raises(ValueError, match="divergence_weight"):
        BeliefMatching(0.0)
