"""Progress reports of fits."""

import pytest
import torch
from torch.nn import functional

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.fitting import progress
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, stream


def test_a_listener_hears_every_epoch_of_a_fit():
    heard = []
    with progress.listening(lambda *report: heard.append(report)):
        AdamW(epochs=3, batch_size=8).fit(classification(), stream(0))
    assert [(done, total) for done, total, _ in heard] == [(1, 3), (2, 3), (3, 3)]


def test_the_loss_heard_is_the_mean_training_loss():
    heard = []
    problem = classification()
    network = TorchNetwork(problem.architecture, problem.input_shape)
    outputs = network(network.initial_weights([stream(5)]), problem.train.inputs[None])[0]
    with progress.listening(lambda *report: heard.append(report)):
        AdamW(epochs=1, batch_size=10**6).fit(problem, stream(5))
    expected = functional.cross_entropy(outputs, problem.train.targets)
    assert heard[0][2] == pytest.approx(float(expected), rel=1e-5)


def test_reports_without_a_listener_go_nowhere():
    progress.report(1, 2, 0.5)


def test_the_outer_listener_listens_again_when_the_inner_one_ends_by_an_error():
    outer, inner = [], []

    def fail():
        with progress.listening(lambda *report: inner.append(report)):
            progress.report(1, 2, 0.5)
            raise RuntimeError

    with progress.listening(lambda *report: outer.append(report)):
        with pytest.raises(RuntimeError):
            fail()
        progress.report(2, 2, 0.25)
    progress.report(3, 3, 0.0)
    assert inner == [(1, 2, 0.5)]
    assert outer == [(2, 2, 0.25)]


def test_a_loss_that_is_no_number_is_heard_as_such():
    heard = []
    with progress.listening(lambda *report: heard.append(report)):
        progress.report(1, 1, float(torch.tensor(torch.nan)))
    assert heard[0][2] != heard[0][2]
