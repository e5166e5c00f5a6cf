"""The league over many tables: which tables, equal budgets, equal test rows for all sizes."""

import pytest

from bnnbench.commands.suite import command
from bnnbench.datasets.official.collected.entries import ENTRIES, counted
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.engine.store.store import Store
from bnnbench.suites.tables import SUITES


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_tables_of_a_profile_are_those_that_count_with_a_network_of_their_classes(task):
    suite = SUITES[task]
    assert [case.source.name for case in suite.cases] == [entry.name for entry in counted(task)]
    outputs = [case.network[-1].outputs for case in suite.cases]
    assert outputs == [entry.classes or 1 for entry in counted(task)]
    assert (suite.folds, suite.seeds) == (5, 1)
    assert all(case.source.folds >= suite.folds for case in suite.cases)


@pytest.mark.parametrize("profile", SUITES)
def test_all_methods_are_tuned_by_one_budget(profile):
    methods = SUITES[profile].methods.values()
    assert len({(m.trials, m.updates, m.halving, m.blocks) for m in methods}) == 1


@pytest.mark.parametrize("profile", ["sizes", "sizes_classes"])
def test_sizes_are_of_six_counted_tables_with_many_rows(profile):
    sources = [case.source for case in SUITES[profile].cases]
    names = {source.name for source in sources}
    assert len(names) == 6
    assert all(ENTRIES[name].rows >= 1_500 and ENTRIES[name].counted for name in names)
    assert len(sources) == 18
    assert SUITES[profile].methods.keys() < SUITES[SIBLINGS[profile]].methods.keys()


SIBLINGS = {"sizes": "regression", "sizes_classes": "classification"}


def test_all_sizes_of_a_table_are_tested_on_the_same_rows(data_folder):
    cut = [case.source for case in SUITES["sizes"].cases if case.source.name == "airfoil"]
    tables = [source.table(1) for source in cut]
    whole = CollectedTable("airfoil").table(1)
    assert [len(table.train_targets) for table in tables] == [50, 150, 500]
    for table in tables:
        assert (table.test_inputs == whole.test_inputs).all()
        assert (table.train_inputs == whole.train_inputs[: len(table.train_inputs)]).all()


@pytest.mark.long
def test_few_rows_still_have_all_classes(data_folder):
    for case in SUITES["sizes_classes"].cases:
        if case.source.train == 50:
            found = [set(case.source.table(fold).train_targets) for fold in range(5)]
            assert min(map(len, found)) == case.network[-1].outputs, case.name


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "table", "methods"),
    [
        ("quick", "servo", ()),
        ("quick_classes", "bupa", ()),
        ("quick_classes", "movement_libras", ("Class frequency", "AdamW", "Ensemble", "PBP")),
    ],
)
def test_the_quick_profiles_run_on_stand_ins(profile, table, methods, tmp_path):
    """All methods, and on a stand-in with fifteen classes a few."""
    options = ["--profile", profile, "--data", "stand-in", "--limit", "60", "--folds", "1"]
    options += ["--datasets", table, "--executor", "serial", "--no-report", "--out", str(tmp_path)]
    options += ["--methods", ",".join(methods)] if methods else []
    assert command(SUITES, options) == 0
    records = list(Store(tmp_path / "tables").records())
    assert {r.method for r in records} == set(methods or SUITES[profile].methods)
    assert {r.outcome.status for r in records} == {"completed"}
