"""Runs that did not converge are marked wherever their scores are shown."""

import csv
import io

import pytest

from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.exports.tables import latex, markdown, tidy
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record


@pytest.fixture
def shown(tmp_path):
    """HMC fails to converge in two of three folds on boston and in none on yacht."""
    runs = [
        record(
            method,
            dataset,
            fold,
            suite="uci",
            scores={"clean": {"rmse": 3.0 + fold + (method == "MFVI")}},
            diagnostics=(
                {"converged": float(dataset == "yacht" or fold == 0)} if method == "HMC" else {}
            ),
        )
        for method in ("HMC", "MFVI")
        for dataset in ("boston", "yacht")
        for fold in range(3)
    ]
    keep(tmp_path / "uci", runs)
    return content(read(tmp_path / "uci"))


def test_the_cells_of_scores_are_marked_and_no_others(shown):
    marked = {
        (table.title, row.method, column.name)
        for table in shown.parts[0].tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if isinstance(cell, Cell) and cell.unconverged == 2
    }
    assert marked == {("RMSE", "HMC", "rmse"), ("boston, test data", "HMC", "rmse")}


def test_a_legend_says_how_many(shown):
    overview, *_, boston, yacht = shown.parts[0].tables
    assert overview.unconverged == ["HMC (boston 2 of 3)"]
    assert boston.unconverged == ["HMC 2 of 3"]
    assert yacht.unconverged == []


def test_every_file_carries_the_mark(shown):
    text = render(shown)
    assert text.count('<span class="dagger"') == 2
    assert "† Runs that did not converge: HMC 2 of 3." in text
    assert "4.0 ± 2.9†" in markdown(shown.tables)
    assert "† Runs that did not converge: HMC 2 of 3." in markdown(shown.tables)
    assert "$\\dagger$ Runs that did not converge: HMC 2 of 3." in latex(shown.tables)
    rows = csv.DictReader(io.StringIO(tidy(shown.tables)))
    counts = {(r["table"], r["method"], r["column"]): r["unconverged"] for r in rows}
    assert counts["boston, test data", "HMC", "rmse"] == "2"
    assert counts["boston, test data", "MFVI", "rmse"] == "0"
    assert counts["boston, test data", "HMC", "fit_seconds"] == "0"


def test_the_diagnostic_itself_is_listed_and_not_marked(shown):
    table = shown.parts[0].datasets[0].diagnostics
    assert [column.name for column in table.columns] == ["converged"]
    assert table.rows[-1].cells[0].mean == pytest.approx(1 / 3)
    assert table.unconverged == []
    assert ">converged" in render(shown)
