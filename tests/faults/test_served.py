"""With rows that another process serves, runs of every kind are what they are with rows here."""

import gc
from dataclasses import dataclass, field

import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.stand_ins import DigitsAsMnist
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.attacks import Fgsm
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.surrogate import Surrogate
from bnnbench.engine.run.task import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.architectures import Flatten, Linear
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.method import Tuned
from tests.engine.declare.test_probe import Centre
from tests.faults.test_data_server import record, results
from tests.methods.tuning.fakes import Parabola
from tests.suites.fakes import Coins, Line, Mean

pytestmark = pytest.mark.long

STEADY = AdamW(learning_rate=0.03, epochs=20, batch_size=8)
OWN = Fgsm(0.5)
TRANSFERRED = Fgsm(0.5, surrogate=Surrogate("adamw", STEADY, (Linear(2),)))
POOL = ActivePool(DigitsAsMnist(), train=20, test=40, repeats=1)


@dataclass(frozen=True)
class Guest:
    """A network of this project's, in a method that is not of this project."""

    inner: AdamW = STEADY

    def fit(self, problem, rng):
        return self.inner.fit(problem, rng)


@dataclass(frozen=True)
class Seeing:
    """Predicts labels of test rows perfectly if any are in its process, where it may see them."""

    def fit(self, problem, rng):
        return _Seen()


@dataclass
class _Seen:
    diagnostics: dict = field(default_factory=dict)
    labels: list = field(default_factory=list)

    def log_probs(self, inputs, rng):
        self._look(inputs)
        return inputs.flatten(1)[:, :2].log_softmax(1)

    def predict(self, inputs, rng):
        self._look(inputs)
        logits = torch.zeros(1, len(inputs), 2)
        for labels in self.labels:
            if len(labels) == len(inputs):
                logits[0, torch.arange(len(inputs)), labels] = 9.0
        return CategoricalPredictive(logits.log_softmax(-1))

    def _look(self, inputs):
        """Remember the targets of any split with these inputs."""
        splits = [thing for thing in gc.get_objects() if type(thing) is Split]
        self.labels += [
            split.targets
            for split in splits
            if split.targets.any() and torch.equal(split.inputs, inputs)
        ]


def run_of(method, source, network=(), **changes):
    return Run("faults", "quick", "M", Case(source, network), method, 0, 0, **changes)


def evaluated(run, *conditions, metrics=("nll", "accuracy")):
    return Task((run,), tuple(Evaluation(one, metrics) for one in conditions))


TASKS = {
    "attacks": evaluated(run_of(Guest(), Coins(), (Linear(2),)), OWN, Clean(), TRANSFERRED),
    "probes": evaluated(run_of(Mean(), Line(), probes=(Centre(),)), Clean(), metrics=("rmse",)),
    "trials": evaluated(
        run_of(Tuned(Parabola(), trials=4), Line()), Clean(), metrics=("rmse", "log_likelihood")
    ),
    "acquisitions": evaluated(
        run_of(Guest(), POOL, (Flatten(), Linear(10)), acquisition=Acquisition("bald", 2, batch=3)),
        Clean(),
    ),
}


@pytest.mark.parametrize("kind", TASKS)
def test_runs_of_every_kind_are_the_same_apart_and_among_others(kind):
    task = TASKS[kind]
    (apart,), (among,) = (results("serial", task, isolate=isolate) for isolate in (True, False))
    one, other = record(apart), record(among)
    assert one.outcome.status == "completed", one.outcome.error
    assert one.outcome.scores == other.outcome.scores
    assert all(one.outcome.scores.values())
    assert one.outcome.acquired == other.outcome.acquired
    assert one.outcome.trial_scores == other.outcome.trial_scores
    assert one.outcome.diagnostics == other.outcome.diagnostics
    mine, theirs = one.circumstances, other.circumstances
    assert (mine.condition_data, mine.data_sha256, mine.fitted_sha256, mine.condition_traits) == (
        theirs.condition_data,
        theirs.data_sha256,
        theirs.fitted_sha256,
        theirs.condition_traits,
    )
    assert apart[0].predictions == among[0].predictions


def test_targets_that_an_attack_needs_come_after_all_other_predictions():
    task = evaluated(run_of(Seeing(), Coins()), OWN, Clean(), metrics=("accuracy",))
    (outcome,) = results("serial", task)
    scores = record(outcome).outcome.scores
    assert scores[OWN.name]["accuracy"] == 1, "the method is blind"
    assert scores["clean"]["accuracy"] < 0.9
