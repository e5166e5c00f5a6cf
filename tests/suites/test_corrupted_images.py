"""All 95 corruptions stream through an evaluation: neither images nor draws accumulate."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.corrupted import ALL_19
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run import packing
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.methods.base import Problem
from bnnbench.methods.predictions.predictive import CategoricalPredictive, CategoricalSummary
from bnnbench.metrics import CLASSIFICATION

POINTS, DRAWS = 12, 20


@dataclass(frozen=True)
class Guess:
    """Class probabilities by brightness, in many draws; counts live objects."""

    alive: ClassVar[list[weakref.ref]] = []
    most: ClassVar[list[int]] = []
    diagnostics: ClassVar[Mapping[str, float]] = {}

    def fit(self, problem: Problem, rng: torch.Generator) -> "Guess":
        return self

    def predict(self, inputs: torch.Tensor, rng: torch.Generator) -> CategoricalPredictive:
        self.alive.append(weakref.ref(inputs))
        self.most.append(sum(one() is not None for one in self.alive))
        logits = torch.randn(DRAWS, 1, 10, generator=rng) * inputs.flatten(1).mean(1)[:, None]
        return CategoricalPredictive(logits.log_softmax(-1))


@pytest.mark.long
def test_all_corruptions_are_scored_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    draws = DRAWS * POINTS * 10 * 4
    monkeypatch.setattr(packing, "KEPT_RUN_BYTES", 10 * draws)
    source = Limited(DigitsAsCifar10(), train=20, test=POINTS)
    evaluations = tuple(Evaluation(one, CLASSIFICATION) for one in (Clean(), *ALL_19))
    run = Run("suite", "quick", "guess", Case(source, ()), Guess(), fold=0, seed=0)
    (outcome,) = execute(Task((run,), evaluations))
    assert outcome.record.outcome.status == "completed", outcome.record.outcome.error
    assert len(outcome.record.outcome.scores) == 96
    assert {*outcome.record.circumstances.condition_origins.values()} == {"stand-in"}
    kept = packing.unpack(outcome.predictions)
    assert {type(prediction) for prediction, _ in kept.values()} == {CategoricalSummary}
    assert max(Guess.most) <= 3  # the test images, those of a condition, and the previous ones
    fogged = [kept[f"corrupted_fog_{s}"][0].mixture_log_probs for s in range(1, 6)]
    assert not torch.equal(fogged[0], fogged[4])
