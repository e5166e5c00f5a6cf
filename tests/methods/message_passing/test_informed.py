"""Informed prior means: their weights, their rows, and their effect."""

import math
from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.message_passing import informed
from bnnbench.methods.message_passing import method as method_module
from bnnbench.methods.message_passing.crossed import CrossFitted
from bnnbench.methods.message_passing.informed import InformedPrior, KnownMeans, halves
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.networks.architectures import Conv2d, Flatten, LeakyReLU, Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.suites.mnist.settings import MLP
from tests.methods.problems import classification, images, regression, stream

TRAINING = AdamW(learning_rate=1e-2, epochs=3, batch_size=8)
PRIOR = InformedPrior(TRAINING)
METHOD = MessagePassing((1, 2), batch_size=8, schedule=Coupled(4), prior=PRIOR)
NETS = {
    "dense": (lambda: classification(rows=40)),
    "no bias": (
        lambda: classification(
            rows=40, architecture=(Linear(7, bias=False), LeakyReLU(0.1), Linear(3))
        )
    ),
    "convolution": (
        lambda: replace(
            images(rows=20),
            architecture=(Conv2d(3, kernel=3), LeakyReLU(0.1), Flatten(), Linear(3)),
        )
    ),
}


def means_of(problem, rng):
    (known,) = PRIOR.means([problem], [rng])
    assert isinstance(known, KnownMeans)
    return known


@pytest.mark.parametrize("name", NETS)
def test_the_network_at_the_prior_means_is_the_trained_one(name):
    """Layer by layer: each prior mean, multiplied by hand, gives the outputs of the fit."""
    problem = NETS[name]()
    known = means_of(problem, stream(1))
    layers = Network(problem.architecture, problem.input_shape, reference).weighted
    drawn = known.draw(layers, [stream(2)], problem.train.inputs)
    vector = torch.cat([part.mean.flatten() for layer in drawn for part in layer.parts()])
    torch.testing.assert_close(vector, known.vectors[0])
    network = TorchNetwork(problem.architecture, problem.input_shape)
    inputs = problem.train.inputs
    outputs = network(vector[None], inputs[None], buffers=vector.new_empty(1, 0))[0]
    fit = TRAINING.fit(problem, spawn(stream(1), 1)[0]).predict(inputs, stream(0))
    torch.testing.assert_close(
        outputs.log_softmax(1).double(), fit.mixture_log_probs, atol=1e-5, rtol=1e-5
    )


def test_variances_are_the_published_ones_times_the_scale():
    problem = classification(rows=40)
    layers = Network(problem.architecture, problem.input_shape, reference).weighted
    published = SpectralPrior().draw(layers, [stream(5)], problem.train.inputs)
    known = replace(means_of(problem, stream(1)), prior=replace(PRIOR, scale=3.0))
    for own, base in zip(
        known.draw(layers, [stream(2)], problem.train.inputs), published, strict=True
    ):
        for part, its in zip(own.parts(), base.parts(), strict=True):
            torch.testing.assert_close(part.variance, 3 * its.variance)


def test_a_narrow_prior_predicts_the_labels_of_the_point_estimate():
    problem = classification(rows=60)
    narrow = replace(METHOD, prior=replace(PRIOR, scale=1e-6))
    fit = narrow.fit(problem, stream(3)).predict(problem.train.inputs, stream(0))
    # Means use the first child of the fit's stream.
    known = means_of(problem, stream(3))
    network = TorchNetwork(problem.architecture, problem.input_shape)
    outputs = network(
        known.vectors[0][None], problem.train.inputs[None], buffers=torch.empty(1, 0)
    )[0]
    assert torch.equal(fit.mixture_log_probs.argmax(1), outputs.argmax(1))


def test_halves_share_no_row_and_lose_none():
    problem = classification(rows=41)
    marked = torch.arange(41.0)[:, None].expand(-1, 4).contiguous()
    problem = replace(problem, train=Split(marked, problem.train.targets))
    one, other = (half.train.inputs[:, 0].tolist() for half in halves(problem, stream(0)))
    assert (len(one), len(other)) == (20, 21)
    assert sorted(one + other) == list(range(41))
    assert one != sorted(one)


@pytest.mark.parametrize("kind", ["half", "crossed"])
def test_messages_never_see_a_row_of_their_own_prior(kind, monkeypatch):
    pairs = []
    original_means, original_passed = InformedPrior.means, MessagePassing._passed

    def means(self, problems, rngs):
        pairs.append([{tuple(r) for r in p.train.inputs.tolist()} for p in problems])
        return original_means(self, problems, rngs)

    def passed(self, problems, rngs, prior, shared):
        own = [{tuple(r) for r in p.train.inputs.tolist()} for p in problems]
        for rows, priors_rows in zip(own, pairs[-1], strict=True):
            assert not rows & priors_rows
        assert shared == 0.0
        return original_passed(self, problems, rngs, prior, shared)

    monkeypatch.setattr(InformedPrior, "means", means)
    monkeypatch.setattr(MessagePassing, "_passed", passed)
    half = replace(METHOD, prior=replace(PRIOR, rows="half"))
    method = half if kind == "half" else CrossFitted(METHOD)
    problems = [classification(seed, rows=41) for seed in (0, 1)]
    assert len(method.fit_many(problems, [stream(1), stream(2)])) == 2
    assert len(pairs) == (1 if kind == "half" else 2)


def test_records_say_whether_rows_are_shared():
    problem = classification(rows=40)
    shared, half = (
        replace(METHOD, prior=replace(PRIOR, rows=rows)).fit(problem, stream(1)).diagnostics
        for rows in ("shared", "half")
    )
    assert (shared["prior_rows_shared"], half["prior_rows_shared"]) == (1.0, 0.0)
    crossed = CrossFitted(METHOD).fit(problem, stream(1)).diagnostics
    assert crossed["prior_rows_shared"] == 0.0
    published = replace(METHOD, prior=SpectralPrior()).fit(problem, stream(1)).diagnostics
    assert "prior_rows_shared" not in published


def test_a_diverged_training_is_the_outcome_of_its_own_problem_alone():
    sound, broken = classification(rows=40), classification(1, rows=40)
    broken = replace(broken, train=replace(broken.train, inputs=broken.train.inputs * float("inf")))
    results = METHOD.fit_many([sound, broken, sound], [stream(1), stream(2), stream(3)])
    assert isinstance(results[1], InferenceDiverged)
    assert "prior means" in str(results[1])
    alone = METHOD.fit(sound, stream(3)).predict(sound.train.inputs, stream(0))
    beside = results[2].predict(sound.train.inputs, stream(0))
    torch.testing.assert_close(alone.mixture_log_probs, beside.mixture_log_probs)


def test_informed_means_fit_a_regression_too():
    problem = regression(rows=60)
    method = MessagePassing((10,), batch_size=60, schedule=Coupled(8), prior=PRIOR)
    prediction = method.fit(problem, stream(1)).predict(problem.train.inputs, stream(0))
    error = (prediction.mean - problem.train.targets).square().mean()
    assert error < 0.5 * problem.train.targets.var()


def test_the_variance_that_held_out_rows_prefer_predicts():
    problem = classification(rows=60)
    method = replace(METHOD, predictive_variances=(0.3, 3.0))
    posterior = method.fit(problem, stream(4))
    assert posterior.diagnostics["predictive_variance"] in (0.3, 3.0)
    fixed = replace(posterior, head=replace(posterior.head, predictive_variance=None))
    other = fixed.predicting_with(posterior.diagnostics["predictive_variance"])
    inputs = problem.train.inputs
    assert torch.equal(
        other.predict(inputs, stream(0)).mixture_log_probs,
        posterior.predict(inputs, stream(0)).mixture_log_probs,
    )


def test_a_fit_that_no_variance_saves_has_diverged(monkeypatch):
    monkeypatch.setattr(method_module, "_score", lambda posterior, validation: -math.inf)
    method = replace(METHOD, predictive_variances=(0.3, 3.0))
    with pytest.raises(InferenceDiverged, match="no variance"):
        method.fit(classification(rows=60), stream(4))


def test_rows_that_choose_the_variance_are_in_no_fit_that_is_scored(monkeypatch):
    """Two fits for any number of candidates; AdamW and the messages use the same rows."""
    fitted: dict[str, list[torch.Tensor]] = {"adamw": [], "messages": []}
    scored: list[torch.Tensor] = []

    def watched(seen, original):
        def fit(*arguments):
            seen.extend(problem.train.inputs for problem in arguments[-2])
            return original(*arguments)

        return fit

    def score(posterior, validation):
        scored.append(validation.inputs)
        return of_rows(posterior, validation)

    of_rows = method_module._score
    monkeypatch.setattr(informed, "fit_all", watched(fitted["adamw"], informed.fit_all))
    monkeypatch.setattr(
        MessagePassing, "_side_by_side", watched(fitted["messages"], MessagePassing._side_by_side)
    )
    monkeypatch.setattr(method_module, "_score", score)
    problem = classification(rows=60)
    replace(METHOD, predictive_variances=(0.3, 1.0, 3.0)).fit(problem, stream(4))

    def as_rows(inputs):
        return set(map(tuple, inputs.tolist()))

    held_out = as_rows(scored[0])
    assert all(as_rows(inputs) == held_out for inputs in scored)
    assert len(scored) == 3
    assert len(held_out) == 12
    for name, seen in fitted.items():
        assert [len(inputs) for inputs in seen] == [48, 60], name
        assert not as_rows(seen[0]) & held_out, name


def test_crossing_needs_informed_means():
    with pytest.raises(ValueError, match=r"CrossFitted needs MessagePassing\(prior=InformedPrior"):
        CrossFitted(MessagePassing())


@pytest.mark.long
def test_it_reads_1280_digits_as_well_as_a_prototype(data_folder, monkeypatch):
    """Stream by stream: .8795 and .388 with a prototype's, .868 to .885 and .375 to .424 here."""
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    data = Limited(Mnist(), train=1280, test=4000).load(0)
    means = AdamW(learning_rate=1e-2, weight_decay=1e-1, epochs=3, batch_size=64)
    method = MessagePassing(
        (1, 1, 2, 2),
        schedule=Coupled(64, damping=1.0),
        prior=InformedPrior(means, scale=3.0),
        predictive_variance=1.0,
    )
    posterior = method.fit(Problem(data.train, data.likelihood, MLP), stream(1))
    predicted = posterior.predict(data.test.inputs, stream(0))
    accuracy = (predicted.log_probs[0].argmax(1) == data.test.targets).double().mean()
    assert accuracy > 0.87
    assert -predicted.log_prob(data.test.targets).mean() < 0.41
