"""The whole method: choices, stored parts and refusals."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.validation_search import held_out
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.networks.architectures import BatchNorm, Conv2d, Flatten, Linear, ReLU
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.swag import Swag
from tests.methods.problems import classification, design, images, regression, stream

ADAMW = AdamW(learning_rate=1e-2, epochs=30, batch_size=8)


def test_a_linear_regression_ends_at_the_conjugate_posterior():
    """Trained to convergence, with known noise and known prior."""
    problem = regression(rows=60, noise_std=0.5, architecture=(Linear(1),), dtype=torch.float64)
    sgd = Sgd(learning_rate=0.1, momentum=0.9, weight_decay=0.25 * 3.0 / 60, epochs=400,
              batch_size=60, schedule="constant")  # fmt: skip
    found = Laplace(sgd, Full(), (3.0,)).fit(problem, stream(1))
    prediction = found.predict(problem.train.inputs, stream(2))
    rows, targets = design(problem), problem.train.targets[:, 0]
    precision = rows.T @ rows / 0.25 + 3.0 * torch.eye(5, dtype=torch.float64)
    mean = rows @ torch.linalg.solve(precision, rows.T @ targets / 0.25)
    variance = (rows * torch.linalg.solve(precision, rows.T).T).sum(1) + 0.25
    torch.testing.assert_close(prediction.mean[:, 0], mean, rtol=0, atol=1e-6)
    torch.testing.assert_close(prediction.variance[:, 0], variance)


def test_the_mean_of_a_regression_is_the_network_that_was_trained():
    problem = regression()
    trained = ADAMW.fit(problem, stream(1)).predict(problem.train.inputs, stream(2))
    found = Laplace(ADAMW).fit(problem, stream(1)).predict(problem.train.inputs, stream(2))
    torch.testing.assert_close(found.mean, trained.mean)
    assert (found.variance > found.variance.min() * 1.0001).any()


def test_a_known_noise_stays_and_a_learned_one_maximises_the_evidence():
    known = Laplace(ADAMW).fit(regression(noise_std=0.7), stream(1))
    assert known.diagnostics["noise_std"] == pytest.approx(0.7)
    trained = ADAMW.fit(regression(), stream(1)).diagnostics["noise_std"]
    evident = Laplace(ADAMW).fit(regression(), stream(1)).diagnostics["noise_std"]
    fixed = Laplace(ADAMW, prior_precisions=(1.0,)).fit(regression(), stream(1))
    assert fixed.diagnostics["noise_std"] == pytest.approx(trained)
    assert evident > trained  # the weights used degrees of freedom


@pytest.mark.parametrize("prediction", ["glm", "mc"])
def test_held_out_rows_choose_the_precision_that_they_are_most_likely_under(prediction):
    problem, candidates = classification(rows=60), (1e-2, 1.0, 100.0)
    laplace = Laplace(ADAMW, Kfac(), candidates, prediction, validation_share=0.3)
    found = laplace.fit(problem, stream(1)).diagnostics["prior_precision"]
    rng = stream(1)
    rest, validation = held_out(problem.train, 0.3, rng)
    mode = ADAMW.fit(replace(problem, train=rest), rng)
    scores = {}
    for candidate in candidates:
        own = replace(laplace, training=Fixed(mode), prior_precisions=(candidate,), draws=2000)
        posterior = own.fit(replace(problem, train=rest), stream(4))
        prediction = posterior.predict(validation.inputs, stream(5))
        scores[candidate] = float(prediction.log_prob(validation.targets).mean())
    assert found == max(scores, key=lambda candidate: scores[candidate])


class Fixed:
    """A training that has ended."""

    def __init__(self, mode) -> None:
        self.mode = mode

    def fit(self, problem, rng):
        return self.mode

    def fit_many(self, problems, rngs):
        return [self.mode]


def test_draws_have_batch_statistics_of_their_own():
    problem = images()
    body = (Conv2d(3, 3, bias=False), BatchNorm(), ReLU(), Flatten(), Linear(3))
    found = Laplace(ADAMW, prediction="mc", draws=3).fit(
        Problem(problem.train, problem.likelihood, body), stream(1)
    )
    assert isinstance(found, NetworkPosterior)
    assert len(found.weights) == 3
    start, stop = next((p.offset, p.stop) for p in found.network.parameters if p.path == "1.weight")
    assert (found.weights[0, start:stop] == found.weights[1, start:stop]).all()
    kernels = found.weights[1, :start].view(3, 2, 3, 3)
    means = torch.nn.functional.conv2d(problem.train.inputs, kernels).mean((0, 2, 3))
    torch.testing.assert_close(found.buffers[1, :3], means, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [Swag(), LastIterate()])
def test_a_training_without_one_weight_vector_and_one_noise_is_refused(training):
    quick = replace(training, training=replace(training.training, epochs=4))
    with pytest.raises(Unsupported, match="such as AdamW or Sgd"):
        Laplace(quick).fit(regression(), stream(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior_precisions": (1.0, 0.0)}, "prior_precisions"),
        ({"temperature": 0.0}, "temperature"),
        ({"draws": 0}, "draws"),
        ({"validation_share": 1.0}, "validation_share"),
    ],
)
def test_settings_without_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Laplace(**change)


def test_evidence_at_a_bound_has_not_converged():
    """Inputs without information about the classes, and weights that stay at 0."""
    train = classification().train
    problem = Problem(Split(0 * train.inputs, train.targets), Categorical(3), (Linear(3),))
    at_zero = Laplace(AdamW(learning_rate=1e-30, weight_decay=1e30, epochs=1), Full("last"))
    assert at_zero.fit(problem, stream(1)).diagnostics["converged"] == 0.0
    assert Laplace(ADAMW).fit(classification(), stream(1)).diagnostics["converged"] == 1.0
