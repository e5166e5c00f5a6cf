"""Visits that the host reads once, and their rounds as graphs, replayed here by a recorder."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bnnbench.methods.message_passing.captured import CapturedRounds
from bnnbench.methods.message_passing.maps import base
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.message_passing.straight import StraightVisits
from bnnbench.methods.message_passing.trainer import Trainer
from tests.methods.message_passing.recorder import name_of
from tests.methods.message_passing.test_fused import distance, images
from tests.methods.problems import stream

pytestmark = pytest.mark.long


READS = {"nonzero", "_local_scalar_dense", "item", "is_nonzero", "masked_select", "equal"}


class Reads(TorchDispatchMode):
    """Collects operations for whose result the host waits."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = name_of(func)
        places = args[1] if name in ("index", "index_put", "index_put_") else ()
        by_flags = any(t is not None and t.dtype is torch.bool for t in places)
        if name in READS or by_flags:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def fit() -> Trainer:
    schedule = Coupled(8, solver_iterations=2)
    method = MessagePassing((1,), 16, schedule, MessageAccuracy("zeroth"), backend="fused")
    return method._trainer([images(torch.float64)], [stream(1)], SpectralPrior())


def visit_all(trainer: Trainer, rounds: int) -> None:
    for batch, size in enumerate((16, 8)):
        trainer.visit(batch, torch.arange(size)[None], rounds, 0.95)


@pytest.mark.parametrize("gpu", [False, True], ids=["layout of a CPU", "of a GPU"])
@torch.no_grad()
def test_a_visit_is_read_once_and_none_of_its_rounds(gpu, monkeypatch):
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: gpu)
    trainer, rounds = fit(), []
    visit_all(trainer, 1)
    passed = StraightVisits.rounds

    def watching(self, *arguments):
        with Reads() as reads:
            out = passed(self, *arguments)
        rounds.append(reads.found)
        return out

    monkeypatch.setattr(StraightVisits, "rounds", watching)
    with Reads() as reads:
        visit_all(trainer, 2)
    assert rounds == [[], []]
    assert reads.found == ["_local_scalar_dense"] * 2
    assert trainer.tally.guard_events.item() == 0


@torch.no_grad()
def test_straight_visits_agree_with_the_general_path():
    straight, general = fit(), fit()
    general.straight = None
    for rounds in (1, 2, 3):
        visit_all(straight, rounds)
        visit_all(general, rounds)
    assert distance(straight, general) < 1e-13
    torch.testing.assert_close(straight.loss, general.loss, rtol=1e-12, atol=0)
    for name, count in vars(straight.tally).items():
        assert torch.equal(count, getattr(general.tally, name)), name


@torch.no_grad()
def test_a_visit_that_goes_wrong_is_repeated_by_the_general_path(monkeypatch):
    trainer, general = fit(), fit()
    general.straight = None
    monkeypatch.setattr(StraightVisits, "_is_sound", lambda self: torch.tensor([False]))
    for each in (trainer, general):
        visit_all(each, 1)
        visit_all(each, 2)
    assert distance(trainer, general) == 0
    assert torch.equal(trainer.loss, general.loss)
    assert not trainer.retries.lost.any()


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -1.0])
@torch.no_grad()
def test_improper_marginals_are_noticed(number):
    trainer = fit()
    visit_all(trainer, 1)
    assert trainer.straight is not None
    assert trainer.straight._is_sound().tolist() == [True]
    bias = trainer.network.weighted[2].marginal.bias
    assert bias is not None
    bias.rho[0, 1] = number
    assert trainer.straight._is_sound().tolist() == [False]


@pytest.mark.parametrize("gpu", [False, True], ids=["layout of a CPU", "of a GPU"])
@torch.no_grad()
def test_replayed_rounds_are_those_that_were_passed(gpu, capture, monkeypatch):
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: gpu)
    capturing, recorders = capture
    captured, eager = fit(), fit()
    assert captured.straight is not None
    captured.straight._captured = CapturedRounds(captured.network, captured.head, capturing)
    for rounds in (1, 1, 2, 2, 3, 3, 4, 2, 1):
        visit_all(captured, rounds)
        visit_all(eager, rounds)
        assert distance(captured, eager) == 0, rounds
        assert torch.equal(captured.loss, eager.loss)
    for name, count in vars(captured.tally).items():
        assert torch.equal(count, getattr(eager.tally, name)), name
    assert captured.tally.guard_events.item() == 0
    assert len(recorders) == 8  # only, first, middle and last, of 16 examples and of 8


@pytest.mark.gpu
@torch.no_grad()
def test_graphs_on_a_gpu_are_replayed_as_passed():
    method = MessagePassing((1,), 16, Coupled(8), backend="fused")
    trainers = []
    for _ in range(2):
        problem = images(torch.float32)
        train = problem.train.to(torch.device("cuda"))
        there = type(problem)(train, problem.likelihood, problem.architecture)
        rng = torch.Generator("cuda").manual_seed(1)
        trainers.append(method._trainer([there], [rng], SpectralPrior()))
    captured, eager = trainers
    assert eager.straight is not None
    eager.straight._captured = None
    for rounds in (1, 1, 2, 2, 3, 3, 4, 2, 1):
        for batch, size in enumerate((16, 8)):
            for trainer in trainers:
                order = torch.arange(size, device="cuda")[None]
                trainer.visit(batch, order, rounds, 0.95)
        assert distance(captured, eager) < 1e-5
