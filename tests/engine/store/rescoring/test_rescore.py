"""New metrics from stored predictions."""

from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.rescoring.rescore import rescore
from bnnbench.engine.store.store import CorruptRecord, Store
from tests.suites.fakes import Diverging, Line, Mean

RUN = Run("miniature", "quick", "label", Case(Line(), ()), Mean(), fold=0, seed=0)
ALL = ("rmse", "log_likelihood", "crps", "picp_90")


def kept(folder, *metrics, run=RUN):
    store = Store(folder)
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), metrics),)))
    store.write(outcome.record, outcome.predictions)
    return store


def test_scores_added_later_equal_scores_given_at_once(tmp_path):
    later, at_once = kept(tmp_path / "later", "rmse"), kept(tmp_path / "at once", *ALL)
    assert rescore(later, {"clean": ALL}) == 1
    assert later.read(RUN.key).outcome.scores == at_once.read(RUN.key).outcome.scores


def test_a_record_that_lacks_nothing_is_left_alone(tmp_path):
    store = kept(tmp_path, "rmse")
    path = store.runs / RUN.key / "record.json"
    before = path.stat().st_mtime_ns
    assert rescore(store, {"clean": ("rmse",), "ood_svhn": ("auroc_ood",)}) == 0
    assert path.stat().st_mtime_ns == before


def test_what_did_not_complete_has_nothing_to_score(tmp_path):
    store = kept(tmp_path, "rmse", run=replace(RUN, method=Diverging()))
    assert rescore(store, {"clean": ALL}) == 0


def test_only_the_named_records_change(tmp_path):
    store = kept(tmp_path, "rmse")
    assert rescore(store, {"clean": ALL}, keys=[]) == 0


def test_missing_predictions_are_named_with_the_cure(tmp_path):
    store = kept(tmp_path, "rmse")
    (store.runs / RUN.key / "predictions.npz").unlink()
    with pytest.raises(CorruptRecord, match=r"predictions.npz.*remove"):
        rescore(store, {"clean": ALL})
