"""Batch norms and a lone row: one value per channel has no variance."""

import pytest
import torch
from torch import nn

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    Linear,
    ReLU,
    Residual,
    TorchModule,
)
from bnnbench.methods.networks.least_rows import least_rows
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.running_statistics import recomputed
from bnnbench.methods.trajectory.swag import Swag
from tests.methods.problems import regression, stream

NORMED = (Linear(6), BatchNorm(), ReLU(), Dropout(0.1), Linear(1))


def own(norm: str = "batch") -> nn.Module:
    norms = {"batch": nn.BatchNorm1d(20), "layer": nn.LayerNorm(20)}
    hidden = nn.Linear(4, 20), norms[norm], nn.ReLU(), nn.Dropout(0.1)
    return nn.Sequential(*hidden, nn.Linear(20, 1))


OWN = (TorchModule(own, outputs=1),)
METHODS = (
    AdamW(epochs=2, batch_size=16),
    Sgd(epochs=2, batch_size=16),
    Swag(Descent(epochs=4, batch_size=16, heteroscedastic=False), draws=2),
    Ivon(epochs=2, batch_size=16, draws=2),
)


class Squeezed(nn.Module):
    """A module that loses the dimension of the rows for one row."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Linear(4, 20), nn.Linear(20, 1)
        self.first, self.last = self.layers

    def forward(self, inputs):
        hidden = self.first(inputs).squeeze(0)
        return self.last(hidden[:, torch.arange(20)])


FROZEN = (TorchModule(own, outputs=1, frozen=("*", "!4.*")),)
LAYER_NORM = (TorchModule(own, outputs=1, arguments={"norm": "layer"}),)


@pytest.mark.parametrize(
    ("architecture", "shape", "least"),
    [
        ((Linear(6), ReLU(), Linear(1)), (4,), 1),
        (NORMED, (4,), 2),
        ((Residual((Linear(4), BatchNorm())), Linear(1)), (4,), 2),
        ((Conv2d(2, 3), BatchNorm(), Flatten(), Linear(1)), (1, 5, 5), 1),
        ((Conv2d(2, 3), BatchNorm(), Flatten(), Linear(1)), (1, 3, 3), 2),
        ((Conv2d(2, 3), AnalyticNorm(), Flatten(), Linear(1)), (1, 3, 3), 1),
        (OWN, (4,), 2),
        (FROZEN, (4,), 1),
        ((TorchModule(Squeezed, outputs=1),), (4,), 2),
        (LAYER_NORM, (4,), 1),
    ],
)
def test_a_batch_norm_needs_two_values_per_channel(architecture, shape, least):
    assert least_rows(architecture, shape) == least


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("architecture", [NORMED, OWN], ids=["layers", "own module"])
@pytest.mark.parametrize("rows", [17, 33])
def test_a_lone_row_is_fitted(method, architecture, rows):
    problem = regression(rows=rows, architecture=architecture)
    posterior = method.fit(problem, stream(1))
    assert posterior.predict(problem.train.inputs, stream(2)).mean.isfinite().all()


def test_a_single_row_is_refused_with_a_cure():
    with pytest.raises(Unsupported, match="batch norm; got 1: raise batch_size, use more rows"):
        AdamW(epochs=1).fit(regression(rows=1, architecture=NORMED), stream(1))


def test_recomputed_statistics_include_a_lone_row():
    network = TorchNetwork((BatchNorm(), Linear(1)), (4,))
    weights, inputs = network.initial_weights([stream(0)]), torch.randn(9, 4, generator=stream(1))
    buffers = network.initial_buffers(weights, [inputs])
    found = recomputed(network, weights, inputs, buffers, 4)[0]
    parts = inputs.split([4, 5])
    variances = sum(len(part) / 9 * part.var(0) for part in parts)
    assert torch.allclose(found, torch.cat([inputs.mean(0), torch.as_tensor(variances)]), atol=1e-6)
