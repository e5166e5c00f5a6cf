"""TF32 is off during a fit of message passing, and restored afterwards."""

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting import tf32
from bnnbench.methods.message_passing.method import MessagePassing, MessagePassingPosterior
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import Linear
from tests.methods.problems import stream

OFF = {"cudnn.allow_tf32": False, "cuda.matmul.allow_tf32": False}
METHOD = MessagePassing((1,), 8, Coupled(4))


def state() -> tuple[object, ...]:
    cudnn = torch.backends.cudnn
    return (
        *tf32.flags().values(),
        cudnn.deterministic,
        cudnn.benchmark,
        torch.get_float32_matmul_precision(),
    )


@pytest.fixture
def coarse(monkeypatch):
    """A process that allows TF32 everywhere, and may choose an algorithm by its time."""
    before = torch.get_float32_matmul_precision()
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


def problem() -> Problem:
    rng = stream(0)
    targets = torch.randint(2, (8,), generator=rng)
    return Problem(Split(torch.randn(8, 3, generator=rng), targets), Categorical(2), (Linear(2),))


def test_visits_see_neither_tf32_nor_an_algorithm_chosen_by_time(coarse, monkeypatch):
    seen, visit = [], Trainer.visit

    def spying(self, *arguments):
        seen.append((tf32.flags(), torch.backends.cudnn.deterministic, state()[3]))
        return visit(self, *arguments)

    monkeypatch.setattr(Trainer, "visit", spying)
    before = state()
    assert before[:2] == (True, True)
    posterior = METHOD.fit(problem(), stream(1))
    assert seen == [(OFF, True, False)]
    assert state() == before
    predict, seen_by_head = MessagePassingPosterior._analytic, []

    def also_spying(self, inputs):
        seen_by_head.append(tf32.flags())
        return predict(self, inputs)

    monkeypatch.setattr(MessagePassingPosterior, "_analytic", also_spying)
    posterior.predict(problem().train.inputs, stream(2))
    assert seen_by_head == [OFF]
    assert state() == before


def test_settings_come_back_after_a_fit_that_raises(coarse, monkeypatch):
    def broken(self, *arguments):
        assert tf32.flags() == OFF
        raise ArithmeticError("broken")

    monkeypatch.setattr(Trainer, "visit", broken)
    before = state()
    with pytest.raises(ArithmeticError):
        METHOD.fit(problem(), stream(1))
    assert state() == before


def test_a_fit_elsewhere_that_forgets_to_switch_tf32_off_is_stopped(coarse):
    with pytest.raises(AssertionError, match="switches TF32 off"):
        METHOD._passed([problem()], [stream(1)], SpectralPrior())


def test_records_on_a_gpu_have_the_flags_of_the_fit_and_not_of_the_process(coarse):
    gpu = torch.device("cuda")
    with tf32.watching() as seen:
        METHOD.fit(problem(), stream(1))
    assert tf32.entry(gpu, seen) == OFF
    with tf32.watching() as seen:
        pass  # a method that does not change the process
    assert tf32.entry(gpu, seen) == dict.fromkeys(OFF, True)
    assert tf32.entry(torch.device("cpu"), seen) == {}
