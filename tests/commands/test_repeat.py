"""A run is carried out again from its record alone."""

import importlib
import json
import sys
from dataclasses import replace

import pytest
import torch

from bnnbench.commands import repeat
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.reading import finished_runs
from bnnbench.datasets.stand_ins import DigitsAsMnist, PhotographCrops
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.packing import pack, unpack
from bnnbench.engine.run.task import Task
from bnnbench.engine.store import bundles
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt, rebuilt_run
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.architectures import Flatten, Linear, ReLU
from bnnbench.suites import SUITES
from tests.engine.records.test_record import RECORD
from tests.records import changed
from tests.suites.fakes import Diverging, Line, Mean, Together

IMAGES = Run(
    *("made", "quick", "AdamW"),
    Case(
        Limited(DigitsAsMnist(), train=60, test=30),
        (Flatten(), Linear(8), ReLU(), Linear(10)),
        "few",
        "Few digits",
    ),
    *(AdamW(epochs=2), 0, 3),
)
CONDITIONS = (
    Evaluation(Clean(), ("nll", "accuracy")),
    Evaluation(OutOfDistribution(PhotographCrops(size=28, grey=True)), ("auroc_ood",)),
)
ROWS = Run("made", "quick", "Mean", Case(Line(), ()), Mean(), 1, 0)


def kept(store, run, evaluations):
    (outcome,) = execute(Task((run,), evaluations))
    return store.write(outcome.record, outcome.predictions)


def call(capsys, key, folder, *flags):
    code = repeat.main([key, "--results", str(folder), *flags])
    told = capsys.readouterr()
    return code, told.out + told.err


def test_a_fit_is_repeated_bit_for_bit_from_its_record_alone(tmp_path, capsys):
    record = kept(Store(tmp_path / "made"), IMAGES, CONDITIONS)
    code, told = call(capsys, record.key[:8], tmp_path)
    assert code == 0, told
    assert "AdamW on few, fold 0, seed 3 (made, quick)" in told
    assert "verdict: identical" in told
    assert "not compared" not in told
    assert repeat.main([str(tmp_path / "made" / "runs" / record.key)]) == 0
    assert record.circumstances.condition_data.keys() == {"clean", "ood_photograph_crops"}


def test_a_run_that_diverged_does_so_again(tmp_path, capsys):
    run = replace(ROWS, method=Diverging())
    record = kept(Store(tmp_path / "made"), run, CONDITIONS[:1])
    assert call(capsys, record.key, tmp_path, "--allow", "tests")[0] == 0


def nudged(store, record, by):
    """Keep predictions that are a little away, in a record that is sealed."""
    prediction, targets = unpack(store.packed(record.key))["clean"]
    moved = replace(prediction, means=prediction.means * (1 + by))
    store.write(record, pack({"clean": (moved, targets)}))


@pytest.mark.parametrize(
    ("by", "code", "verdict"), [(1e-6, 1, "within rounding"), (0.1, 3, "differs")]
)
def test_other_predictions_are_found(tmp_path, capsys, by, code, verdict):
    store = Store(tmp_path / "made")
    nudged(store, kept(store, ROWS, (Evaluation(Clean(), ("rmse",)),)), by)
    found, told = call(capsys, ROWS.key, tmp_path, "--allow", "tests")
    assert found == code
    assert f"verdict: {verdict}" in told
    assert f"{verdict}: 1 of" in told
    assert "predictions of clean, means" in told


def test_another_score_data_and_processor_are_told(tmp_path, capsys):
    store = Store(tmp_path / "made")
    record = kept(store, ROWS, (Evaluation(Clean(), ("rmse",)),))
    other = changed(
        record,
        scores={"clean": {"rmse": 9.0, "forgotten": 1.0}},
        condition_data={"clean": "0" * 64},
        provenance=dict(record.circumstances.provenance) | {"cpu": "abacus", "commit": "0" * 40},
    )
    store.rewrite(other)
    code, told = call(capsys, ROWS.key, tmp_path, "--allow", "tests")
    assert code == 3
    for line in ("clean, rmse", "clean, forgotten", "data of clean", "recorded abacus, now "):
        assert line in told
    assert "differs: 3 of" in told


def test_scores_that_a_suite_adds_later_are_named_and_not_missed(tmp_path, capsys):
    store = Store(tmp_path / "made")
    record = kept(store, ROWS, (Evaluation(Clean(), ("rmse",)),))
    added = {"wasserstein2": 0.1, "kl_from_truth": 0.2, "cdf_at_truth_negative": 0.3}
    store.rewrite(changed(record, scores={"clean": record.outcome.scores["clean"] | added}))
    code, told = call(capsys, ROWS.key, tmp_path, "--allow", "tests")
    assert code == 0, told
    for truth in ("another run", "a certified posterior", "the true function"):
        assert f"a score against {truth}" in told


def test_sums_that_leave_nothing_but_rounding_agree(tmp_path, capsys):
    store = Store(tmp_path / "made")
    record = kept(store, IMAGES, (Evaluation(Clean(), ("mutual_information",)),))
    left = record.outcome.scores["clean"]["mutual_information"]
    assert abs(left) < 1e-15  # one network knows of no uncertainty of weights
    store.rewrite(changed(record, scores={"clean": {"mutual_information": left + 1e-15}}))
    assert call(capsys, IMAGES.key, tmp_path)[0] == 1


def test_a_class_from_elsewhere_is_not_imported_unasked(tmp_path, capsys):
    record = kept(Store(tmp_path / "made"), ROWS, CONDITIONS[:0])
    code, told = call(capsys, record.key, tmp_path)
    assert code == 2
    assert "names tests.suites.fakes:" in told
    assert "--allow tests" in told


def test_a_method_of_ones_own_file_is_repeated_in_the_folder_of_that_file(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])  # as of the installed command
    own = tmp_path / "own"
    own.mkdir()
    (own / "near_here.py").write_text(
        "from dataclasses import dataclass\nfrom tests.suites.fakes import Mean\n\n\n"
        "@dataclass(frozen=True)\nclass Near(Mean):\n    pass\n"
    )
    monkeypatch.syspath_prepend(own)
    method = importlib.import_module("near_here").Near()
    record = kept(Store(tmp_path / "made"), replace(ROWS, method=method), CONDITIONS[:0])
    monkeypatch.delitem(sys.modules, "near_here")
    sys.path.remove(str(own))
    flags = ["--allow", "near_here", "--allow", "tests"]
    code, told = call(capsys, record.key, tmp_path, *flags)
    assert code == 2
    assert "near_here:Near cannot be imported" in told
    assert "in the folder of its file" in told
    monkeypatch.chdir(own)
    assert call(capsys, record.key, tmp_path, *flags)[0] == 0


@pytest.mark.parametrize("path", ["os:system", "subprocess:Popen", "builtins:eval", "", ":"])
def test_what_a_record_names_is_a_dataclass_of_this_project_or_nothing(path):
    with pytest.raises(NotRepeatable):
        rebuilt({"type": path, "command": "true"})
    for module in (
        "bnnbench.engine.store.store:os",
        "bnnbench.engine.store.store:sha256",
        "datasets:source",
    ):
        with pytest.raises(NotRepeatable):
            rebuilt({"type": module})


def test_settings_of_another_time_are_named_with_the_commit(tmp_path):
    record = kept(Store(tmp_path), IMAGES, CONDITIONS[:1])
    run = json.loads(json.dumps(record.run))
    del run["method"]["epochs"]
    with pytest.raises(NotRepeatable, match=r"method.epochs was 'nothing'.*git checkout"):
        rebuilt_run(replace(record, run=run))
    run["method"]["tempo"] = 3
    with pytest.raises(NotRepeatable, match="has no setting tempo"):
        rebuilt_run(replace(record, run=run))


@pytest.mark.parametrize(("start", "told"), [("x", "no run in"), ("", "2 keys begin with")])
def test_a_key_that_names_not_one_run_is_refused(tmp_path, capsys, start, told):
    for run in (ROWS, replace(ROWS, fold=2)):
        kept(Store(tmp_path / "made"), run, CONDITIONS[:0])
    code, said = call(capsys, start, tmp_path)
    assert (code, told in said) == (2, True)


MOST = 30
"""Methods and sources of a suite; a search has hundreds that differ in numbers."""


def declared():
    for module in SUITES:
        yield from importlib.import_module(f"bnnbench.suites.{module}").SUITES.values()


@pytest.mark.parametrize(
    "suite", list(declared()), ids=lambda suite: f"{suite.name} {suite.profile}"
)
def test_every_run_and_evaluation_of_every_suite_is_had_back_from_its_description(suite):
    for evaluation in suite.evaluations:
        told = json.loads(json.dumps(describe(evaluation)))
        assert describe(rebuilt(told)) == describe(evaluation)
        assert rebuilt(told).condition.name == evaluation.condition.name
    record = from_json(to_json(RECORD))
    seen: set[object] = set()
    for run in suite.runs():
        if not {run.method, run.source} <= seen and len(seen) < MOST:
            seen |= {run.method, run.source}
            told = json.loads(json.dumps(run.description))
            found = rebuilt_run(replace(record, run=told, key=run.key, method=run.label))
            assert found.description == run.description
            assert (found.method, found.source) == (run.method, run.source)


def test_infinite_settings_survive():
    method = Together(torch.inf)
    assert rebuilt(json.loads(json.dumps(describe(method))), ("tests",)) == method


def test_a_run_of_a_bundle_is_found_by_its_key_and_repeated(tmp_path, capsys, monkeypatch):
    record = kept(Store(tmp_path / "made"), IMAGES, CONDITIONS)
    bundles.write(tmp_path / "bundle" / "made", [record])
    monkeypatch.setattr(finished_runs, "CHECKOUT", tmp_path / "bundle")
    (tmp_path / "work" / "results" / "try" / "uci").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")  # its folder `results` holds no run
    assert repeat.main([record.key[:8]]) == 0
    told = capsys.readouterr().out
    assert "verdict: identical" in told
    assert "not compared: predictions, which are not stored" in told
    assert repeat.main(["ffff"]) == 2
    assert "begins with 'ffff'" in capsys.readouterr().err
    assert repeat.main(["results"]) == 2
    assert "neither a run's folder nor a bundle" in capsys.readouterr().err
