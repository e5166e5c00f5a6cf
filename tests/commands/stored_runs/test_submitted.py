"""Submissions are judged as text: names, labels, digests, marks, costs, and chances of forgery."""

import importlib
import itertools
import math
import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bnnbench.commands.stored_runs import admission, marks
from bnnbench.commands.stored_runs.headlines import changed_by
from bnnbench.commands.stored_runs.labels_taken import check_label
from bnnbench.commands.stored_runs.submitted import (
    Refused,
    Submitted,
    check_modules,
    check_names,
    code_digest,
)
from bnnbench.engine.declare.description import describe, digest
from bnnbench.engine.declare.names import name_of
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.store.rebuilding import Sent
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers.separate import NoAnswer, answer
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.source_code import method_digest
from bnnbench.methods.source_code.files import file_of
from bnnbench.suites.uci import SUITES
from tests.records import changed
from tests.reports.synthetic import record

MINE = {"type": "mine:Method", "width": 3}
TORCH_MODULE = {"type": "torch_module", "factory": "torch.utils.collect_env:run", "outputs": 1}


def run_of(**parts):
    return record(run={"source": {}, "architecture": [], "method": MINE, **parts})


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"architecture": [TORCH_MODULE]}, "torch.utils.collect_env:run"),
        ({"probes": [{"type": "bystander:Nothing"}]}, "bystander:Nothing"),
        ({"method": {**MINE, "inner": [{"type": "os:system"}]}}, "os:system"),
        ({"method": {"type": "bnnbench.methods.sgd:Sgd"}}, "bnnbench.methods.sgd:Sgd"),
        ({"method": {"type": "tuned", "method": {"type": ["mine:Method"]}}}, "mine:Method"),
        ({"source": {"type": "mine.inner:Data"}}, "mine.inner:Data"),
    ],
)
def test_a_record_names_only_this_project_and_the_files_that_come_with_it(parts, name):
    check_names([run_of()], ["mine"])
    with pytest.raises(Refused, match=name):
        check_names([run_of(**parts)], ["mine"])
    named = changed(run_of(), evaluations=({"condition": {"type": "bystander:C"}},))
    with pytest.raises(Refused, match="bystander"):
        check_names([named], ["mine"])


@pytest.mark.parametrize("name", ["numpy", "json", "bnnbench", "pytest", "__main__", "ray"])
def test_a_file_with_the_name_of_another_module_is_refused(name):
    check_modules(["a_method_of_nobody"])
    with pytest.raises(Refused, match="rename it"):
        check_modules(["a_method_of_nobody", name])


def test_finding_the_file_of_a_module_runs_no_package_around_it(tmp_path, monkeypatch):
    (tmp_path / "around").mkdir()
    (tmp_path / "around" / "__init__.py").write_text("raise SystemExit('it ran')\n")
    (tmp_path / "around" / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert file_of("around.inner") == tmp_path / "around" / "inner.py"
    assert file_of("around.missing") is None
    assert "around" not in sys.modules


METHODS = [(p, n) for p in ("quick", "tuned_quick") for n in list(SUITES[p].methods)[::6]]


@pytest.mark.long
@pytest.mark.parametrize(("profile", "label"), METHODS)
def test_the_digest_of_a_description_is_that_of_the_method(profile, label, tmp_path):
    method = SUITES[profile].methods[label]
    described = describe(method)
    assert isinstance(described, dict)
    assert code_digest(described, tmp_path) == method_digest(method)


def test_a_described_method_has_its_key_and_is_constructed_only_where_it_is_sent():
    method = AdamW(epochs=7)
    described = describe(method)
    assert isinstance(described, dict)
    sent = Sent(described)
    assert digest(describe([sent])) == digest(describe([method]))
    assert pickle.loads(pickle.dumps(sent)) == method


def submitted(label, method, **changes):
    first = changed(run_of(method=method), method=label, suite="uci", dataset="boston")
    return Submitted(Store(Path()), (changed(first, **changes),), Path())


def held(label, method, dataset="boston", suite="uci"):
    return changed(run_of(method=method, seed=9), method=label, suite=suite, dataset=dataset)


IVON = {"type": "ivon", "epochs": 3}


@pytest.mark.parametrize(
    ("label", "other", "reason"),
    [
        ("Mine", held("Mine", IVON), "belongs to ivon in the bundle"),
        ("Mine", held("Mine", IVON, "yacht", "toy"), "belongs to ivon"),
        ("Mine", held(" mINE ", IVON), "belongs to ivon"),
        *(
            (label, held("Mine", MINE), "look like others")
            for label in ("\uff2dine", "\u041cine", "Mine\u200b", "Mine\x07")
        ),
        ("Mine", held("Mine", {**MINE, "width": 4}), "with other settings in the bundle"),
        ("Mine", held("Mine", {"type": "tuned", "method": IVON}), "belongs to ivon"),
        ("Mine", held("Mine", MINE), None),
        ("Mine", held("Mine", {**MINE, "width": 4}, "yacht"), None),
        ("Mine", held("Mine", {"type": "tuned", "method": MINE}, "yacht"), None),
        ("Mine", held("Another", IVON), None),
        ("SGD", held("Another", IVON), "another method, or other settings, under the label"),
    ],
)
def test_labels_of_the_bundle_and_of_the_suite_are_taken(label, other, reason):
    assert "SGD" in SUITES["quick"].methods
    if reason is None:
        return check_label(submitted(label, MINE), [other])
    with pytest.raises(Refused, match=f"{reason}.*give the class"):
        check_label(submitted(label, MINE), [other])


def test_a_run_that_the_bundle_has_is_refused():
    mine = submitted("Mine", MINE)
    with pytest.raises(Refused, match="already has the run"):
        check_label(mine, [mine.first])


@pytest.mark.parametrize("suite", ["../uci", "check.__main__", "uci.__main__", "os"])
def test_a_record_names_no_module_as_its_suite(suite):
    mine = submitted("Mine", MINE, suite=suite)
    with pytest.raises(Refused, match="there is no suite"):
        _ = mine.suite


COST = Cost(1.0, 0.5, 2e9, fit_cpu_seconds=1.0, work={"gradient_rows": 1000.0})
WHOLE = changed(
    record(),
    cost=COST,
    diagnostics={"converged": 0.0, "r_hat": 1.2},
    unsteady={"clean": "predictions change with the batch"},
    unanswered={"clean": {"crps": "no distribution"}},
    search={"settings": [{"a": 1}], "seconds": [[1.0]], "error": [[0.5]]},
)


def costing(**changes):
    return changed(WHOLE, cost=Cost(**{**vars(COST), **changes}))


@pytest.mark.parametrize(
    ("altered", "phrase"),
    [
        (changed(WHOLE, unsteady={}), "batch_dependence of clean"),
        (changed(WHOLE, unanswered={}), "unanswered of clean"),
        (changed(WHOLE, diagnostics={"converged": 1.0, "r_hat": 1.2}), "converged"),
        (changed(WHOLE, diagnostics={"converged": 0.0}), "r_hat"),
        (changed(WHOLE, scores={"clean": {}}), "no score"),
        (changed(WHOLE, fitted_sha256="0" * 64), "fitted_sha256"),
        (changed(WHOLE, target={"name": "y", "unit": "", "mean": 0.0, "std": 0.1}), "target"),
        (changed(WHOLE, search={"settings": [{"a": 2}], "seconds": [[1.0]]}), "search"),
    ],
)
def test_what_was_removed_from_a_record_is_found_in_its_re_run(altered, phrase):
    assert not marks.differing(WHOLE, WHOLE)
    assert any(phrase in told for told in marks.differing(altered, WHOLE))


@pytest.mark.parametrize(
    ("altered", "phrase"),
    [
        (costing(fit_seconds=1e-6, fit_cpu_seconds=1e-6), "fit_cpu_seconds"),
        (costing(fit_seconds=1e-6, fit_cpu_seconds=1e-6), "fit_seconds"),
        (costing(fit_seconds=1e-6), "fit_seconds"),
        (costing(fit_seconds=1e-6, fit_cpu_seconds=None), "fit_seconds"),
        (costing(fit_cpu_seconds=1e-6), "fit_cpu_seconds"),
        (costing(fit_cpu_seconds=100.0), "fit_cpu_seconds"),
        (costing(predict_seconds=1e-6), "predict_seconds"),
        (costing(work={}), "gradient_rows"),
        (costing(peak_bytes=1.0), "peak_bytes"),
        (costing(work={"gradient_rows": 10.0}), "gradient_rows"),
        (costing(fit_joules=5.0), "fit_joules, which a CPU does not count"),
        (changed(WHOLE, cost=None), "cost"),
    ],
)
def test_a_cost_that_was_made_small_or_large_is_found(altered, phrase):
    assert not marks.differing_costs(WHOLE, WHOLE)
    assert any(phrase in told for told in marks.differing_costs(altered, WHOLE))


def test_the_energy_of_a_gpu_is_compared_where_it_is_counted():
    gpu = {"provenance": {"device": "a GPU"}}
    counted, uncounted = (changed(costing(fit_joules=joules), **gpu) for joules in (5000.0, None))
    for joules, near in ((10.0, False), (600.0, True), (40_000.0, True), (60_000.0, False)):
        stated = changed(costing(fit_joules=joules), **gpu)
        different = marks.differing_costs(stated, counted)
        assert any("fit_joules" in one for one in different) != near
        assert not marks.differing_costs(stated, uncounted)
    assert not marks.differing_costs(uncounted, counted)


def test_rounding_other_machines_and_measured_times_are_no_difference():
    search = {"settings": [{"a": 1}], "seconds": [[9.0]], "error": [[0.5001]]}
    diagnostics = {"converged": 0.0, "r_hat": 1.201}
    assert not marks.differing(WHOLE, changed(WHOLE, search=search, diagnostics=diagnostics))
    missing = changed(WHOLE, diagnostics={"a": math.nan})
    assert not marks.differing(missing, missing)
    assert not marks.differing_costs(WHOLE, costing(fit_seconds=90.0, fit_cpu_seconds=4.0))
    together = costing(fit_seconds=0.05, fit_cpu_seconds=0.05, fitted_together=20)
    assert not marks.differing_costs(together, WHOLE)


def test_the_chance_of_a_forgery_is_that_of_draws_without_replacement():
    for runs, repeated, forged in itertools.product((5, 45), (1, 5), (1, 3, 5)):
        exact = stats.hypergeom(runs, forged, repeated).pmf(0)
        assert admission.missed(runs, repeated, forged) == pytest.approx(exact)
    chosen = list(itertools.combinations(range(6), 2))
    missed = np.mean([not {0, 1, 2} & set(pair) for pair in chosen])
    assert admission.missed(6, 2, 3) == pytest.approx(missed)
    assert "80 % for 1, 60 % for 2" in admission.sentence(5, 1)
    assert "0 %" in admission.sentence(5, 5)


def on_board(method, error):
    scores = {"clean": {"rmse": error, "log_likelihood": -error}}
    facts = {"suite": "uci", "dataset": "boston", "scores": scores}
    return [record(method, fold=fold, **facts) for fold in range(5)]


def test_a_new_leader_changes_a_headline_and_a_worse_method_does_not():
    others = [*on_board("A", 2.0), *on_board("B", 9.0)]
    assert any("error" in told for told in changed_by(on_board("C", 1.0), others))
    assert changed_by(on_board("C", 30.0), others) == []
    assert changed_by(on_board("C", 30.0), [])  # the only method leads


def told(value):
    return {"told": value, "process": os.getpid()}


def exits():
    sys.exit(0)


def ends():
    os._exit(0)


def imports(name):
    return importlib.import_module(name).VALUE


@pytest.mark.long
def test_a_function_is_called_in_a_process_of_its_own(tmp_path):
    (tmp_path / "only_there.py").write_text("VALUE = 3\n")
    given = answer(told, [1, "two"], folder=str(tmp_path), seconds=60.0)
    assert given["told"] == [1, "two"]
    assert given["process"] != os.getpid()
    assert answer(imports, "only_there", folder=str(tmp_path), seconds=60.0) == 3
    assert "only_there" not in sys.modules
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (exits, (), "SystemExit: 0"),
        (ends, (), "ended its process"),
        (imports, ("absent_module",), "ModuleNotFoundError"),
        (time.sleep, (60,), "longer than 0.1 s"),
        (name_of, (AdamW, 3), "TypeError"),
    ],
)
def test_a_call_that_fails_says_why(function, arguments, reason, tmp_path):
    with pytest.raises(NoAnswer, match=reason):
        answer(
            function, *arguments, folder=str(tmp_path), seconds=0.1 if "longer" in reason else 60.0
        )
