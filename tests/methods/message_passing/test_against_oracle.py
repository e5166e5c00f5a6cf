"""The published schedule with exact sums, number by number against the slow NumPy oracle."""

import numpy as np
import pytest
import torch

from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential
from bnnbench.methods.networks.architectures import (
    Conv2d,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
)
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.methods.message_passing import oracle, twins
from tests.methods.message_passing.oracle import Argmax, KnownNoise, build, spectral_prior

HIDDEN = (Linear(8), LeakyReLU(0.1), Linear(6), LeakyReLU(0.1))
POOLED = (Conv2d(3, 3), LeakyReLU(0.1), MaxPool2d(2), Conv2d(4, 2), LeakyReLU(0.1), Flatten())
STRIDED = (
    Conv2d(3, 3, stride=2, padding=1),
    LeakyReLU(0.1),
    Conv2d(4, 3, stride=2, padding=1),
    LeakyReLU(0.1),
    GlobalAvgPool2d(),
)
LOPSIDED = (Conv2d(3, 2, padding=(0, 1)), LeakyReLU(0.1), Conv2d(2, 2, 2, (1, 0)), Flatten())
CASES = {
    "classifier": ((*HIDDEN, Linear(3)), (5,), Argmax()),
    "not regularised": ((*HIDDEN, Linear(3)), (5,), Argmax(None)),
    "regression": ((*HIDDEN, Linear(2)), (5,), KnownNoise(0.1)),
    "linear regression": ((Linear(2),), (5,), KnownNoise(0.1)),
    "flattened images": ((Flatten(), *HIDDEN, Linear(3)), (2, 3, 3), Argmax()),
    "max-pooling": ((*POOLED, Linear(3)), (2, 7, 7), Argmax()),
    "stride, padding, average": ((*STRIDED, Linear(3)), (2, 7, 7), Argmax()),
    "unequal borders": ((*LOPSIDED, Linear(1)), (1, 4, 4), KnownNoise(0.2)),
}


def twins_of(case: str, schedule=twins.PUBLISHED_SCHEDULE, accuracy=twins.PUBLISHED):
    """Return the oracle and our trainer on 12 rows in batches of 5, and their generator."""
    architecture, shape, head = CASES[case]
    rng = np.random.default_rng(0)
    priors = spectral_prior(architecture, shape, rng)
    inputs, outputs = rng.normal(size=(12, *shape)), architecture[-1].outputs
    classifies = isinstance(head, Argmax)
    targets = rng.integers(0, outputs, 12) if classifies else rng.normal(size=(12, outputs))
    batches = [range(5), range(5, 10), range(10, 12)]
    slow = oracle.Trainer(build(architecture, shape, priors), head, inputs, targets, batches)
    ours = twins.trainer_of(
        architecture, shape, priors, head, inputs, targets, 5, schedule, accuracy
    )
    return slow, ours, rng


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=() if name in ("classifier", "max-pooling") else pytest.mark.long)
        for name in CASES
    ],
)
def test_the_published_schedule_equals_the_oracle_after_epochs_of_several_iterations(case):
    slow, ours, rng = twins_of(case)
    for number, iterations in enumerate((1, 2, 3), 1):
        visits = twins.visits(rng, (5, 5, 2))
        slow.epoch(number, visits, iterations)
        twins.epoch(ours, number, visits, iterations)
        assert twins.apart(ours.stored.marginal, slow.marginals) < 1e-8
    assert not ours.retries.lost.any()
    inputs = rng.normal(size=(5, *slow.inputs.shape[1:]))
    ours.network.start_from(ours.stored.marginal)
    prediction = ours.head.predictive(ours.network.predict(torch.tensor(inputs)[None]), None)
    expected = torch.tensor(slow.predict(inputs))
    if isinstance(slow.head, Argmax):
        assert isinstance(prediction, CategoricalPredictive)
        torch.testing.assert_close(prediction.log_probs[0].exp(), expected, rtol=1e-8, atol=0)
    else:
        assert isinstance(prediction, GaussianPredictive)
        found = torch.stack([prediction.mean, prediction.variance], 1)
        torch.testing.assert_close(found.view_as(expected), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "schedule",
    [GroupSequential(1), Coupled(1, damping=1.0, without_own_force=False)],
    ids=["group", "coupled"],
)
def test_a_group_of_one_row_is_the_published_schedule(schedule):
    slow, ours, rng = twins_of("classifier", schedule)
    for number in (1, 2):
        visits = twins.visits(rng, (5, 5, 2))
        slow.epoch(number, visits, 2)
        twins.epoch(ours, number, visits, 2)
    assert twins.apart(ours.stored.marginal, slow.marginals) < 1e-8


@pytest.mark.parametrize("case", ["classifier", "max-pooling"])
def test_two_numbers_an_output_rebuild_cavities_exactly_in_the_first_iteration(case):
    """In later ones the cavity has moved since the message was sent, except at a fixed point."""
    slow, ours, rng = twins_of(case, accuracy=MessageAccuracy("exact", "row"))
    for number in (1, 2):
        visits = twins.visits(rng, (5, 5, 2))
        slow.epoch(number, visits, 1)
        twins.epoch(ours, number, visits, 1)
    assert twins.apart(ours.stored.marginal, slow.marginals) < 1e-8
    visits = twins.visits(rng, (5, 5, 2))
    slow.epoch(3, visits, 3)
    twins.epoch(ours, 3, visits, 3)
    assert 1e-4 < twins.apart(ours.stored.marginal, slow.marginals) < 0.5


@pytest.mark.parametrize(("noise", "same"), [(4.0, True), (0.1, False)])
def test_rebuilt_cavities_have_the_fixed_point_of_stored_ones_where_no_weight_dominates(
    noise, same
):
    """s = c - g x² c² has a second root, the correct one if g x² c > 1/2."""
    rng = np.random.default_rng(1)
    priors = spectral_prior((Linear(1),), (5,), rng)
    inputs, targets, batch = rng.normal(size=(8, 5)), rng.normal(size=(8, 1)), np.arange(8)
    problem = (KnownNoise(noise), inputs, targets)
    slow = oracle.Trainer(build((Linear(1),), (5,), priors), *problem, [batch])
    rebuilt = MessageAccuracy("exact", "row")
    ours = twins.trainer_of((Linear(1),), (5,), priors, *problem, 8, accuracy=rebuilt)
    slow.visit(0, batch, 50, 1.0)
    ours.visit(0, torch.tensor(batch)[None], 50, 1.0)
    assert (twins.apart(ours.stored.marginal, slow.marginals) < 1e-8) == same


def test_sums_to_first_order_are_nearer_to_the_exact_ones_than_to_zeroth():
    """In a visit's first iteration, where the sums are the only approximation."""
    apart = {}
    for order in ("zeroth", "first"):
        slow, ours, rng = twins_of("classifier", accuracy=MessageAccuracy(order, "example"))
        visits = twins.visits(rng, (5, 5, 2))
        slow.epoch(1, visits, 1)
        twins.epoch(ours, 1, visits, 1)
        apart[order] = twins.apart(ours.stored.marginal, slow.marginals)
    assert 1e-8 < apart["first"] < 0.5 * apart["zeroth"]
