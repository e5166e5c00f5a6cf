"""Other test rows change no bit of a fit, a search or their record."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Table
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.folds import Deduplicated, Gap
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.official.uci_classification import UciClassification
from bnnbench.datasets.reading import cache, tables
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.tuning.method import Tuned


def with_other_test_rows(table: Table) -> Table:
    rng = np.random.default_rng(0)
    inputs = 1e3 * rng.normal(size=table.test_inputs.shape) + 77
    count = len(table.test_targets)
    if table.classes:
        targets = rng.integers(table.classes, size=count).astype(float)
    else:
        targets = -1e4 * rng.normal(size=count)
    return replace(table, test_inputs=inputs, test_targets=targets)


def assert_same_training(source: Any, fold: int) -> None:
    kept = source.table(fold)
    facts = source.target, source.origin, source.licence
    one = tables.standardised(kept, *facts)
    other = tables.standardised(with_other_test_rows(kept), *facts)
    assert not torch.equal(one.test.inputs, other.test.inputs)
    assert torch.equal(one.train.inputs, other.train.inputs)
    assert torch.equal(one.train.targets, other.train.targets)
    assert (one.target, one.likelihood) == (other.target, other.likelihood)
    for name in ("mean", "std"):
        assert torch.equal(getattr(one.scaling, name), getattr(other.scaling, name))


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", ["boston", "concrete", "energy", "wine_red", "yacht"])
def test_rows_of_uci_are_standardised_by_training_rows_only(name):
    assert_same_training(Uci(name), 3)


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", ["german", "ecoli", "sonar"])
def test_classified_tables_are_standardised_by_training_rows_only(name):
    source = UciClassification(name)
    assert_same_training(source, 1)


@pytest.mark.parametrize(
    "source", [DiabetesAsUci(), Gap(DiabetesAsUci(), (0, 1)), Deduplicated(DiabetesAsUci())]
)
def test_cuts_are_standardised_by_training_rows_only(source):
    assert_same_training(source, 0)


@pytest.mark.parametrize(
    "method",
    [
        AdamW(epochs=4),
        Pbp(epochs=2),
        Ensemble(2, AdamW(epochs=3)),
        Tuned(AdamW(), trials=2, blocks=1, lengths=(2, 4)),
        Tuned(Ivon(draws=3), trials=2, blocks=1, lengths=(2, 4), noise="own", halving=True),
    ],
    ids=str,
)
def test_a_run_on_other_test_rows_is_the_same_fit_and_the_same_search(method, monkeypatch):
    first, true = record_of(method), DiabetesAsUci.table
    with monkeypatch.context() as patched:
        patched.setattr(DiabetesAsUci, "table", lambda *of: with_other_test_rows(true(*of)))
        cache.forget()
        second = record_of(method)
    cache.forget()
    for record in (first, second):
        assert record.outcome.status == "completed", record.outcome.error
    assert first.outcome.scores != second.outcome.scores
    assert first.circumstances.data_sha256 != second.circumstances.data_sha256
    assert first.circumstances.fitted_sha256 == second.circumstances.fitted_sha256
    assert without_clocks(first.outcome.search) == without_clocks(second.outcome.search)
    assert first.outcome.diagnostics == second.outcome.diagnostics
    assert first.cost.work == second.cost.work


def record_of(method: Any) -> Any:
    case = Case(DiabetesAsUci(), (Linear(6), ReLU(), Linear(1)))
    run = Run("leaks", "quick", "method", case, method, fold=0, seed=0)
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), ("rmse", "log_likelihood")),)))
    return outcome.record


def without_clocks(search: Any) -> Any:
    if isinstance(search, dict):
        return {k: without_clocks(v) for k, v in search.items() if "seconds" not in k}
    if isinstance(search, (list, tuple)):
        return [without_clocks(item) for item in search]
    return search
