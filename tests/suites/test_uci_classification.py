"""The classification of tables: every method accepts classes, and reports show rare ones."""

import math

import pytest

from bnnbench.commands.suite import command
from bnnbench.engine.store.store import Store
from bnnbench.metrics import IMBALANCED
from bnnbench.suites.uci_classification import SUITES


@pytest.fixture(scope="module")
def results(tmp_path_factory, warm_reports):
    folder = tmp_path_factory.mktemp("results")
    options = ["--data", "stand-in", "--limit", "60", "--folds", "1", "--datasets", "ecoli"]
    code = command(SUITES, [*options, "--executor", "serial", "--out", str(folder)])
    assert code == 0
    return folder / "uci_classification"


@pytest.mark.long
def test_every_method_learns_classes_and_is_scored(results):
    records = list(Store(results).records())
    assert {r.method for r in records} == SUITES["quick"].methods.keys()
    assert {r.outcome.status for r in records} == {"completed"}
    for record in records:
        assert record.outcome.scores["clean"].keys() >= set(IMBALANCED)
        assert all(
            map(math.isfinite, (record.outcome.scores["clean"][name] for name in IMBALANCED))
        )
    balanced = {r.method: r.outcome.scores["clean"]["balanced_accuracy"] for r in records}
    frequency = balanced.pop("Class frequency")
    assert frequency == 1 / 8  # one class of eight is correct
    assert min(balanced.values()) > 0.5, min(balanced.items(), key=lambda item: item[1])


@pytest.mark.long
def test_the_report_shows_scores_of_rare_classes_in_its_first_table(results):
    page = (results / "report.html").read_text()
    assert all(words in page for words in ("Balanced accuracy", "Average precision"))
    lines = (results / "tables.csv").read_text().splitlines()
    first = next(line for line in lines if ",balanced_accuracy," in line)
    table = first.partition(",")[0]
    assert any(line.startswith(table) and ",ece_classwise," in line for line in lines)


def test_methods_are_tuned_by_one_budget():
    tuned = SUITES["tuned_quick"].methods
    assert tuned.keys() >= SUITES["quick"].methods.keys()
    budgets = {label: getattr(method, "trials", None) for label, method in tuned.items()}
    assert set(budgets.values()) == {4, 8}
    assert [label for label, trials in budgets.items() if trials == 4] == [
        "MP",
        "MP informed x3",
        "MP cross-fitted x3",
    ]
