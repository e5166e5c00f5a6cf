"""Attacks that follow the gradient of another network."""

from dataclasses import dataclass, replace

import pytest
import torch

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare import surrogate as transfer
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.declare.surrogate import Surrogate
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, NotDifferentiable, Problem
from bnnbench.methods.networks.architectures import Linear
from tests.suites.fakes import Coins, Mean

CPU = torch.device("cpu")
STEADY = AdamW(learning_rate=0.03, epochs=20, batch_size=8)
SURROGATE = Surrogate("adamw", STEADY, (Linear(2),))
OWN, TRANSFERRED = Fgsm(0.5), Fgsm(0.5, surrogate=SURROGATE)
WANDERING = Pgd(0.5, steps=3, step=0.5, surrogate=SURROGATE)
SUITE = Suite(
    name="transferred",
    title="Transferred",
    cases=(Case(Coins(), (Linear(2),)),),
    methods={"AdamW": STEADY, "AdamW longer": replace(STEADY, epochs=25), "Mean": Mean()},
    evaluations=tuple(
        Evaluation(condition, ("nll", "accuracy"))
        for condition in (Clean(), OWN, TRANSFERRED, WANDERING)
    ),
    seeds=2,
)


@dataclass(frozen=True)
class Diverging:
    """Its fit never ends."""

    def fit(self, problem, rng):
        raise InferenceDiverged("the loss overflows")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    return [o for task in plan(SUITE, store, "cpu").tasks for o in execute(task)]


def of(outcomes, method):
    return [outcome for outcome in outcomes if outcome.record.method == method]


def test_every_method_and_seed_meets_the_inputs_that_the_surrogate_gives(outcomes):
    test, scaling = Coins().load(0).test, Coins().load(0).scaling
    followed = SURROGATE.fitted(Coins(), 0, CPU)
    moved = TRANSFERRED.perturbed(followed, test, scaling, torch.Generator()).inputs
    assert (moved != test.inputs).any()
    for outcome in of(outcomes, "AdamW"):
        prediction, targets = unpack(outcome.predictions)[TRANSFERRED.name]
        assert torch.equal(targets, test.targets)
        own = STEADY.fit(problem(Coins().load(0)), fit_stream(outcome.record))
        expected = own.predict(moved, torch.Generator())
        torch.testing.assert_close(prediction.log_probs, expected.log_probs)


def problem(data):
    return Problem(data.train, data.likelihood, (Linear(2),))


def fit_stream(record):
    return stream("fit", Coins(), record.fold, record.seed)


def test_an_attack_on_oneself_does_more_than_one_on_another(outcomes):
    for outcome in of(outcomes, "AdamW longer"):
        scores = outcome.record.outcome.scores
        assert scores[OWN.name]["nll"] >= scores[TRANSFERRED.name]["nll"]
        assert scores[TRANSFERRED.name]["nll"] > scores["clean"]["nll"] + 0.1


def test_a_posterior_without_gradient_is_attacked_through_the_surrogate(outcomes):
    for outcome in of(outcomes, "Mean"):
        record = outcome.record
        assert set(record.outcome.not_scored) == {OWN.name}
        assert {TRANSFERRED.name, WANDERING.name} <= set(record.outcome.scores)
        assert "zero_gradient" not in record.outcome.scores[TRANSFERRED.name]


def test_the_surrogate_is_fitted_once_and_by_no_run_s_seed(monkeypatch):
    fits = []
    original = AdamW.fit

    def counted(self, problem, rng):
        fits.append(rng.initial_seed())
        return original(self, problem, rng)

    monkeypatch.setattr(AdamW, "fit", counted)
    transfer._fitted.cache_clear()
    alike = Surrogate("adamw", STEADY, {"default": (Linear(2),), "other": (Linear(3),)})
    for _ in range(2):
        SURROGATE.fitted(Coins(), 0, CPU)
        alike.fitted(Coins(), 0, CPU)
    assert len(fits) == 2  # one each: other settings, another fit
    assert len(set(fits)) == 1


def test_where_no_surrogate_comes_of_its_fit_the_condition_is_not_scored():
    with pytest.raises(NotDifferentiable, match="adrift diverged: the loss overflows"):
        Surrogate("adrift", Diverging(), (Linear(2),)).fitted(Coins(), 0, CPU)
    with pytest.raises(NotDifferentiable, match="no log_probs"):
        Surrogate("mean", Mean(), (Linear(2),)).fitted(Coins(), 0, CPU)


def test_names_and_words_tell_whose_gradient_it_was():
    assert TRANSFERRED.name == "fgsm_from_adamw_0.5"
    assert TRANSFERRED.traits.title == "Gradient signs (FGSM): from adamw, ε 0.5"
