"""Attacks on multinomial regression of real digits, with independently computed values."""

from typing import Any

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Scaling, Split
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.networks.architectures import Flatten, Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

PIXELS = Scaling(*(torch.full((1, 1, 1), value, dtype=torch.float64) for value in (0, 1)))
WALK: dict[str, Any] = {"steps": 40, "step": 0.1, "random_start": False}


@pytest.fixture(scope="module")
def attacked(data_folder):
    """Return test digits and the unique optimum of a convex loss, for comparison anywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BNNBENCH_DATA", str(data_folder))
        if missing := Mnist().missing():
            pytest.skip(f"real data: {missing[0]} is not there")
        train, test = (rows(part, count) for part, count in (("train", 2000), ("test", 1000)))
    network = TorchNetwork((Flatten(), Linear(10)), (1, 28, 28))
    weights = torch.zeros(1, network.parameter_count, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights], max_iter=500, history_size=50, tolerance_grad=1e-8, tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def objective():
        loss = torch.nn.functional.cross_entropy(network(weights, train.inputs[None])[0],
                                                 train.targets)  # fmt: skip
        loss = loss + 0.005 * weights.square().sum()
        optimiser.zero_grad()
        loss.backward()
        return loss.detach()

    optimiser.step(objective)
    assert float(objective()) == pytest.approx(0.4903347051, abs=1e-9)
    found = weights.detach()
    return test, NetworkPosterior(network, Categorical(10), found, found[:, :0], None, {})


def rows(part, count):
    images, labels = Mnist().images(part)
    pixels = np.ascontiguousarray(images[:count]).transpose(0, 3, 1, 2) / 255.0
    return Split(torch.tensor(pixels), torch.tensor(labels[:count]))


@pytest.mark.parametrize(
    ("attack", "accuracy", "loss"),
    [
        (Fgsm(0.0, "pixel", clamp=True), 0.863, 0.50699),
        (Fgsm(0.02, "pixel"), 0.750, 0.76642),
        (Fgsm(0.1, "pixel"), 0.176, 2.68338),
        (Fgsm(0.02, "pixel", clamp=True), 0.794, 0.67081),
        (Fgsm(0.1, "pixel", clamp=True), 0.374, 1.70584),
        (Pgd(0.1, "pixel", clamp=True, **WALK), 0.351, 1.72375),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else None,
)
def test_accuracy_and_loss_are_the_expected_ones(attacked, attack, accuracy, loss):
    split, posterior = attacked
    moved = attack.perturbed(posterior, split, PIXELS, stream(1)).inputs
    prediction = posterior.predict(moved, stream(2))
    predicted = prediction.mixture_log_probs.argmax(1)
    assert float((predicted == split.targets).double().mean()) == pytest.approx(accuracy, abs=1e-3)
    assert float(-prediction.log_prob(split.targets).mean()) == pytest.approx(loss, abs=2e-5)
