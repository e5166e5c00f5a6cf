"""Scores against the true function, added to records from stored predictions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.curves import SineFar
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite, TrueFunction
from bnnbench.engine.run.execute import execute
from bnnbench.engine.store.data_points import keep_curves
from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.rescoring.distances import add_distances
from bnnbench.engine.store.store import Store
from bnnbench.metrics import FAR
from tests.records import changed
from tests.suites.fakes import Line, Mean

SUITE = Suite(
    name="far",
    title="Sines",
    profile="quick",
    cases=(Case(SineFar(), ()),),
    methods={"Mean": Mean()},
    evaluations=(Evaluation(Clean(), ("rmse",)),),
    folds=2,
    reference=TrueFunction(),
)


def carried_out(suite: Suite, store: Store) -> list[str]:
    """Run a suite and return the doubts about its scores."""
    for task in plan(suite, store, "cpu").tasks:
        for outcome in execute(task):
            store.write(outcome.record, outcome.predictions)
    doubts = add_distances(suite, store)
    keep_curves(suite, store)
    return doubts


@pytest.fixture
def store(tmp_path) -> Store:
    found = Store(tmp_path)
    assert carried_out(SUITE, found) == []
    return found


def test_scores_are_the_cdf_at_the_law_of_the_sines_in_the_targets_own_unit(store):
    """Compute distribution, grid and prediction again, by NumPy and in raw units."""
    for record in store.current():
        prediction, _ = store.predictions(record.key)["clean"]
        target = record.circumstances.target
        means = target["mean"] + target["std"] * prediction.means.double().numpy()[0, :, 0]
        stds = target["std"] * prediction.variances.double().numpy()[0, :, 0] ** 0.5
        x = SineFar().table(record.fold).test_inputs[:, 0]
        truth = 0.5 * x + 0.2 * np.sin(2 * np.pi * x) + 0.3 * np.sin(4 * np.pi * x)
        cdf = stats.norm.cdf(truth, means, stds)
        for side, name in ((x < -10, "negative"), (x > 10, "positive")):
            found = record.outcome.scores["clean"][f"cdf_at_truth_{name}"]
            assert found == pytest.approx(np.median(cdf[side]), abs=1e-5)


def test_records_that_have_the_scores_are_left_alone(store):
    before = {key: (store.runs / key / "record.json").read_bytes() for key in store.run_keys()}
    assert carried_out(SUITE, store) == []
    for key, content in before.items():
        assert (store.runs / key / "record.json").read_bytes() == content


def test_a_score_that_its_predictions_do_not_give_is_found(store):
    assert inspect(store, rescore=True).findings == ()
    record = next(iter(store.current()))
    scores = {"clean": {**record.outcome.scores["clean"], "cdf_at_truth_positive": 0.123}}
    store.rewrite(changed(record, scores=scores))
    (finding,) = inspect(store, rescore=True).findings
    assert "cdf_at_truth_positive under clean is 0.123" in str(finding)


def test_a_law_that_is_not_known_gives_a_doubt_and_no_score(tmp_path):
    store, suite = Store(tmp_path), replace(SUITE, cases=(Case(Line(), ()),))
    (doubt,) = carried_out(suite, store)
    assert "line, fold 0, 1: none, it is unknown" in doubt
    assert not any(FAR.keys() & r.outcome.scores["clean"].keys() for r in store.current())
