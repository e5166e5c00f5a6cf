"""Tables without twins next to tables of data sets whose test rows have twins."""

import pytest

from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from tests.records import changed
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

PLAIN = {"type": "uci", "name": "wine"}
CUT = {"type": "deduplicated", "source": PLAIN}


def _runs(dataset, source, rmse, twins=0, **changes):
    facts = {"train_rows": 90, "test_rows": 10, "test_twins": twins}
    return [
        record(
            method,
            dataset,
            seed=seed,
            suite="uci",
            scores={"clean": {"rmse": rmse + extra + seed / 100, "mae": 1.0}},
            facts=facts,
            run={"source": source} | changes.get("run", {}),
            profile=changes.get("profile", "quick"),
        )
        for method, extra in (("AdamW", 0.0), ("SGD", 0.5))
        for seed in range(3)
    ]


@pytest.fixture
def store(tmp_path):
    """A set with twins and one without, and the deduplicated counterpart of the first."""
    wine = _runs("wine", PLAIN, 1.0, twins=3)
    other = _runs("yacht", {"type": "uci", "name": "yacht"}, 2.0)
    cut = _runs("wine-deduplicated", CUT, 4.0, profile="deduplicated")
    return keep(tmp_path, [*wine, *other, *cut])


def _page(store):
    return content(read(store.folder))


def test_columns_of_sets_with_twins_are_replaced_and_the_others_stay(store):
    page = _page(store)
    (overview,) = [t for _, t in page.tables if t.title == "RMSE"]
    other = page.twins.without(overview)
    means = {row.method: [cell.mean for cell in row.cells] for row in other.table.rows}
    assert means["AdamW"] == pytest.approx([4.01, 2.01])
    assert means["SGD"] == pytest.approx([4.51, 2.51])
    assert [column.heading for column in other.table.columns] == ["wine", "yacht"]
    assert not other.counts_runs
    assert "profile deduplicated (3 of 10)" in other.note


def test_the_table_of_one_set_has_the_runs_of_its_counterpart(store):
    page = _page(store)
    (table,) = [t for _, t in page.tables if t.title == "wine, test data" and "rmse" in
                {c.name for c in t.columns}]  # fmt: skip
    other = page.twins.without(table)
    assert other.counts_runs
    assert [row.runs for row in other.table.rows] == [3, 3]
    assert all(c.benchmark[1] == "wine-deduplicated" for c in other.table.columns)


def test_a_method_without_runs_on_the_counterpart_says_so(store, tmp_path):
    extra = record("IVON", "wine", suite="uci", scores={"clean": {"rmse": 1.0}},
                   facts={"test_rows": 10, "test_twins": 3}, run={"source": PLAIN})  # fmt: skip
    keep(tmp_path, [extra])
    page = _page(store)
    (table,) = [t for _, t in page.tables if t.title == "RMSE"]
    (row,) = [row for row in page.twins.without(table).table.rows if row.method == "IVON"]
    assert row.cells[0] == "no run"


def test_tables_without_twins_or_without_a_counterpart_have_no_switch(store, tmp_path):
    page = _page(store)
    for _, table in page.tables:
        if table.benchmark and table.benchmark[1] != "wine":
            assert page.twins.without(table) is None
    alone = keep(tmp_path / "alone", _runs("wine", PLAIN, 1.0, twins=3))
    assert 'data-rows="all"' not in render(_page(alone))
    assert "no runs on deduplicated folds" in render(_page(alone))


def test_another_network_is_no_counterpart(tmp_path):
    wide = {"architecture": [{"type": "linear", "outputs": 99}]}
    runs = _runs("wine", PLAIN, 1.0, twins=3) + _runs("cut", CUT, 4.0, run=wide)
    page = _page(keep(tmp_path, runs))
    assert page.twins.counterparts == {}


def test_the_page_holds_both_tables_under_one_switch(store):
    page = render(_page(store))
    assert page.count('data-rows="all"') == page.count('data-rows="without twins in training"') > 0
    assert "RMSE, without twins in training" in page


def test_records_that_state_no_twins_are_left_alone(tmp_path):
    old = [changed(r, facts={}) for r in _runs("wine", PLAIN, 1.0)]
    page = _page(keep(tmp_path, [*old, *_runs("cut", CUT, 4.0)]))
    assert page.twins.counterparts == {}
