"""Corruptions in a report: their mean first, each one folded; printed numbers."""

import csv
from statistics import fmean

import pytest

from bnnbench.datasets.conditions.corrupted import ALL_19
from bnnbench.datasets.corruptions import CORRUPTIONS
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.description import describe
from bnnbench.methods.networks.catalogue import resnet18
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.papers.published import FOLDER
from bnnbench.reports.papers.reproduction import comparisons
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.read.means import with_means
from bnnbench.reports.sections.suites.sizes import part_tables, sized_families
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

FAITHFUL = {
    "run": {
        "source": {
            "type": "augmented",
            "source": describe(Cifar10()),
        },
        "architecture": describe(resnet18()),
        "method": {"type": "methods.x:MAP", "epochs": 200},
    },
    "facts": {},
}
TABLE_11 = ({"paper": "003", "table": "11", "departures": []},)


def accuracy(corruption, severity, seed=0):
    return 0.9 - 0.05 * severity - 0.01 * list(CORRUPTIONS).index(corruption) - 0.01 * seed


def run(method="MAP", seed=0, conditions=ALL_19, **changes):
    scores = {c.name: {"accuracy": accuracy(c.corruption, c.severity, seed)} for c in conditions}
    scores = {"clean": {"accuracy": 0.95}} | scores
    return record(method, seed=seed, scores=scores, **changes)


def shown(folder, *records):
    keep(folder, records)
    return content(read(folder))


def test_the_mean_over_corruptions_has_a_table_with_a_column_for_each_severity(tmp_path):
    found = shown(tmp_path, *(run(seed=seed) for seed in range(3)))
    (section,) = found.parts[0].datasets
    assert [family.title for family, _ in section.sized] == [
        "Mean over the 19 corruptions",
        "Mean over the 15 test corruptions",
    ]
    table = section.sized[0][1][0]
    assert table.title == "CIFAR-10, Mean over the 19 corruptions: Accuracy"
    assert [column.heading for column in table.columns] == ["0", "1", "2", "3", "4", "5"]
    expected = [fmean(accuracy(c, s, seed=1) for c in CORRUPTIONS) for s in range(1, 6)]
    assert [cell.mean for cell in table.rows[0].cells] == pytest.approx([0.95, *expected])
    assert table.rows[0].cells[3].standard_error == pytest.approx(0.01 / 3**0.5)


def test_each_corruption_is_folded_away_side_by_side_and_by_severity(tmp_path):
    found = shown(tmp_path, run())
    (section,) = found.parts[0].datasets
    assert len(section.parts) == 19
    (table,) = section.part_tables
    headings = [column.heading for column in table.columns]
    assert sorted(headings) == sorted(name.replace("_", " ") for name in CORRUPTIONS)
    fog = table.rows[0].cells[headings.index("fog")]
    assert fog.mean == pytest.approx(fmean(accuracy("fog", severity) for severity in range(1, 6)))
    page = render(found)
    assert "Each of 19 corruptions" in page
    assert "Mean over the 19 corruptions, severity 1 to 5" in page
    assert page.partition("<main")[2].count('="Accuracy against severity on CIFAR-10') == 2
    assert {c for c, _ in section.tables_by_size} == {
        f"{word}_{s}" for word in ("corrupted", "corrupted_test15") for s in range(1, 6)
    }


def test_corruptions_without_a_mean_are_shown_themselves(tmp_path):
    fog = tuple(c for c in ALL_19 if c.corruption == "fog")
    (section,) = shown(tmp_path, run(conditions=fog)).parts[0].datasets
    assert [family.title for family, _ in section.sized] == ["Corruption: fog"]
    assert section.parts == section.part_tables == ()


def test_a_run_that_lacks_a_severity_has_no_mean_over_severities():
    short = run("MAP fVI")
    scores = {name: s for name, s in short.outcome.scores.items() if name != "corrupted_fog_2"}
    (benchmark,) = benchmarks(map(with_means, [run(), record("MAP fVI", scores=scores)]))
    parts = [family for family in sized_families(benchmark) if family.is_part]
    (table,) = part_tables(parts, ["MAP", "MAP fVI"])
    at = [column.heading for column in table.columns].index("fog")
    assert table.rows[1].cells[at] == "not scored"
    assert table.rows[1].cells[at - 1] != "not scored"


def printed(severity):
    path = FOLDER / "003_tables11-13_cifar10_corruption.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (value,) = (
            float(row["value"]) / 100
            for row in csv.DictReader(file)
            if (row["table"], row["method"], row["condition"])
            == ("11", "MAP", f"severity={severity}")
        )
    return value


def compared(**changes):
    runs = [
        with_means(run(seed=seed, profile="paper", reproduces=TABLE_11, **FAITHFUL, **changes))
        for seed in range(10)
    ]
    return {c.condition: c for b in benchmarks(runs) for c in comparisons(b)}


def test_a_mean_over_corruptions_stands_beside_the_printed_one():
    found = compared()
    assert set(found) == {"clean", *(f"corrupted_{severity}" for severity in range(1, 6))}
    for severity in range(1, 6):
        one = found[f"corrupted_{severity}"]
        assert one.published.value == printed(severity)
        ours = fmean(accuracy(c, severity, s) for c in CORRUPTIONS for s in range(10))
        assert one.mean == pytest.approx(ours)
        assert one.differs == ()


def test_corruptions_made_here_stand_apart_from_the_printed_ones():
    origins = {c.name: "generated" for c in ALL_19} | {"clean": "original"}
    found = compared(condition_origins=origins)
    assert found["clean"].differs == ()
    assert found["corrupted_3"].differs == (
        "test images generated here, with the same distribution as the official ones",
    )
