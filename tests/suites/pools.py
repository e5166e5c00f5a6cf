"""Small runs of active learning, for its tests."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from bnnbench.datasets.base import Table
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run, Suite
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.suites.fakes import Line, Mean, Together

POOL = ActivePool(Line(rows=60), train=8, test=12, repeats=4)
EVALUATIONS = (Evaluation(Clean(), ("rmse", "log_likelihood", "log_likelihood_standardised")),)
ACTIVE, RANDOM = Acquisition("variance", rounds=3), Acquisition("random", rounds=3)
RUN = Run(
    "miniature", "quick", "label-A", Case(POOL, ()), Mean(), fold=0, seed=0, acquisition=ACTIVE
)


def outcomes(method, folds=(0,), listener=lambda *_: None, **changes):
    run = replace(RUN, method=method, **changes)
    runs = tuple(replace(run, fold=fold) for fold in folds)
    return execute(Task(runs, EVALUATIONS), listener)


def suite(**changes):
    arms = {"A": ACTIVE, "R": RANDOM}
    fields = {
        "name": "miniature",
        "title": "Lines",
        "cases": (Case(POOL, ()),),
        "methods": {"Mean": Mean(), "Together": Together()},
        "evaluations": EVALUATIONS,
        "folds": 4,
        "acquisitions": arms,
    }
    return Suite(**fields | changes)


@dataclass(frozen=True)
class Far:
    """The uncertainty grows with the standardised first feature."""

    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        variances = 1 + inputs[None, :, :1].exp()
        return GaussianPredictive(torch.zeros_like(variances), variances)


def rows_of(table: Table):
    inputs = np.concatenate([table.train_inputs, table.test_inputs])
    return inputs, np.concatenate([table.train_targets, table.test_targets])
