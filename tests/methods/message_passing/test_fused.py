"""Visits with fused kernels, compared with the other backends on the same rows.

Conjugate gradients amplify rounding some hundredfold in every iteration, in all backends: with one
iteration they agree to rounding, with five as well as the reference agrees with the kernels in C.
"""

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing.maps import base
from bnnbench.methods.message_passing.method import Backend, MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Schedule
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import LeakyReLU, Linear
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from tests.methods.message_passing.factors.messages import DTYPES
from tests.methods.problems import stream

pytestmark = pytest.mark.long


SCHEDULES = {
    "coupled, one iteration": Coupled(8, solver_iterations=1),
    "coupled, undamped": Coupled(8, damping=1.0, solver_iterations=1),
    "groups": GroupSequential(4),
    "groups without own force": GroupSequential(4, without_own_force=True),
}
LAYOUTS = pytest.mark.parametrize("gpu", [False, True], ids=["layout of a CPU", "of a GPU"])


def images(dtype: torch.dtype) -> Problem:
    rng = stream(0)
    inputs = torch.randn(24, 3, 32, 32, generator=rng).to(dtype)
    targets = torch.randint(10, (24,), generator=rng)
    network = cnn_000(channels=(4, 4, 8, 8), hidden=32)
    return Problem(Split(inputs, targets), Categorical(10), network)


def regression(dtype: torch.dtype) -> Problem:
    rng = stream(1)
    inputs = torch.randn(24, 5, generator=rng).to(dtype)
    targets = torch.randn(24, 1, generator=rng).to(dtype)
    network = (Linear(70, bias=False), LeakyReLU(0.1), Linear(1))
    return Problem(Split(inputs, targets), Gaussian(None), network)


@torch.no_grad()
def visited(problem: Problem, schedule: Schedule, backend: Backend, rounds: tuple[int, ...]):
    """Return a fit after visits of the given rounds to both batches of vectors, of two members."""
    members = 1 if problem.train.inputs.dim() == 4 else 2
    method = MessagePassing((1,), 16, schedule, MessageAccuracy("zeroth"), backend=backend)
    rngs = [stream(seed) for seed in range(members)]
    trainer = method._trainer([problem] * members, rngs, SpectralPrior())
    for count in rounds:
        for batch, size in enumerate((16, 8)):
            order = torch.arange(size).expand(members, -1)
            trainer.visit(batch, order, count, 0.95)
    return trainer


def distance(one: Trainer, other: Trainer) -> float:
    """Return the largest difference of marginals, relative to the largest of their layer."""
    parts = [
        pair
        for left, right in zip(one.stored.marginal, other.stored.marginal, strict=True)
        for a, b in zip(left.parts(), right.parts(), strict=True)
        for pair in ((a.tau, b.tau), (a.rho, b.rho))
    ]
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in parts)


@LAYOUTS
@pytest.mark.parametrize("make", [images, regression])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_visits_agree_with_those_of_the_kernels_in_c(schedule, dtype, make, gpu, monkeypatch):
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: gpu)
    problem, rounds = make(dtype), (1, 2, 3)
    expected, found = (visited(problem, schedule, name, rounds) for name in ("compiled", "fused"))
    # Kernels agree to 1e-13 and 1e-6; six visits of three rounds add up their differences.
    assert distance(found, expected) < (1e-12 if dtype is torch.float64 else 5e-5)
    assert not found.retries.lost.any()
    assert found.tally.serial_steps.equal(expected.tally.serial_steps)
    assert found.tally.forwards.equal(expected.tally.forwards)
    assert found.tally.guard_events.equal(expected.tally.guard_events)
    for name in ("replaced", "floored"):
        counts = (getattr(trainer.tally, name).double() for trainer in (found, expected))
        torch.testing.assert_close(*counts, rtol=1e-3, atol=3.0)
    torch.testing.assert_close(found.loss, expected.loss, rtol=1e-5, atol=1e-5)


@LAYOUTS
def test_five_iterations_agree_as_well_as_the_reference_and_the_kernels_in_c_do(gpu, monkeypatch):
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: gpu)
    problem = images(torch.float64)
    fits = {
        name: visited(problem, Coupled(8), name, (1, 2))
        for name in ("compiled", "reference", "fused")
    }
    between = distance(fits["reference"], fits["compiled"])
    assert between < 1e-4
    assert distance(fits["fused"], fits["compiled"]) < 10 * between


def test_a_joint_precision_has_no_fused_kernels():
    with pytest.raises(ValueError, match="no fused kernels"):
        MessagePassing(schedule=Coupled(joint_precisions=True), backend="fused")


def test_a_posterior_predicts_alike():
    problem = images(torch.float32)
    inputs = problem.train.inputs
    found, expected = (
        MessagePassing((1,), 16, SCHEDULES["groups"], backend=backend)
        .fit(problem, stream(1))
        .predict(inputs, stream(2))
        for backend in ("fused", "compiled")
    )
    assert isinstance(found, CategoricalPredictive)
    assert isinstance(expected, CategoricalPredictive)
    torch.testing.assert_close(found.log_probs, expected.log_probs, rtol=1e-4, atol=1e-4)
