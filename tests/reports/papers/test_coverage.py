"""Every printed number has a verdict or a reason, exactly one, and pages show the counts."""

import csv
import json
import re
from collections import Counter

import pytest

from bnnbench.reports.pages.site.paper_pages import paper_page, papers_index
from bnnbench.reports.pages.site.printed_counts import COLUMNS, HEADS
from bnnbench.reports.papers.arranged import arranged
from bnnbench.reports.papers.coverage import REASONS, PrintedTable, coverage, reason
from bnnbench.reports.papers.entries import entries, fits, nearest_first
from bnnbench.reports.papers.published import FOLDER, every
from docs.generate.finished_runs import suites

COMMON = {"suites": {}, "search": []}


@pytest.fixture(scope="module")
def tables():
    """The coverage of the papers by the finished runs."""
    return coverage(suites())


@pytest.mark.long
def test_each_line_of_the_published_files_is_counted_once(tables):
    lines = Counter()
    for path in FOLDER.glob("*.csv"):
        with path.open(encoding="utf-8") as file:
            lines.update(row["paper"] for row in csv.DictReader(file) if row["value"])
    counted = Counter()
    for table in tables:
        counted[table.paper] += len(table.numbers)
        assert sum(table.count(kind) for kind in HEADS) == len(table.numbers)
    assert counted == lines


@pytest.mark.long
def test_a_number_has_a_verdict_or_a_listed_reason(tables):
    for table in tables:
        for printed in table.numbers:
            assert (printed.kind is None) == (printed.reason in REASONS)
            assert bool(printed.suite) == (printed.judgement is not None)
            assert not (printed.judgement and printed.closed_form)


def test_without_runs_every_number_has_a_reason():
    for table in coverage({}):
        for printed in table.numbers:
            assert (printed.kind is None) == (printed.closed_form is None)
            assert printed.closed_form or reason(printed.published) == printed.reason


@pytest.mark.long
def test_finished_runs_have_a_place_in_the_order_of_profiles(tables):
    compared = [n.judgement.comparison for table in tables for n in table.numbers if n.judgement]
    assert len(compared) > 1000
    for comparison in compared:
        assert comparison.profile in nearest_first(comparison.published), comparison.profile


@pytest.mark.long
def test_a_difference_under_a_departure_is_none_under_the_protocol(tables):
    numbers = [n for table in tables for n in table.numbers if n.judgement]
    for number in numbers:
        if number.kind in ("differs", "differs much"):
            assert number.followed
        if number.kind == "departs":
            assert not number.followed
    assert {"departs", "cannot be met"} <= {number.kind for number in numbers}


@pytest.mark.long
def test_six_errors_of_a_mean_are_below_the_error_of_their_samples(tables):
    """Printed as 0.01: the first activations with dropout, of both networks of paper 001."""
    unmet = [n.published for table in tables for n in table.numbers if n.kind == "cannot be met"]
    assert {(p.paper, p.metric, p.value) for p in unmet} == {("001", "eps_mu", 0.01)}
    assert Counter(p.table for p in unmet) == {"2": 3, "3": 3}


@pytest.mark.long
def test_numbers_whose_runs_all_diverged_say_so(tables):
    """CIBER on keggdirected, by the bundle's records: no other run of theirs ended like this."""
    why = {
        (n.published.dataset, n.published.method): n.reason
        for table in tables
        for n in table.numbers
        if table.paper == "002" and n.published.method.startswith("ciber") and n.kind is None
    }
    of_kegg = {method for (dataset, method), text in why.items() if text == "our runs diverged"}
    assert of_kegg == {"ciber (last)", "ciber (second)"}
    assert {d for (d, _), text in why.items() if text == "our runs diverged"} == {"keggdirected"}


@pytest.mark.parametrize(
    "entry", entries("not_run.toml", "numbers"), ids=lambda entry: str(entry["reason"])
)
def test_a_declared_reason_is_one_of_the_list_and_fits_some_number(entry):
    assert entry["reason"] in REASONS
    assert any(fits(entry, published) for published in every())


@pytest.mark.long
def test_rows_and_columns_hold_all_numbers_of_a_table_in_one_cell_each(tables):
    for table in tables:
        found = arranged(table)
        cells = [printed for row in found.rows.values() for printed in row.values()]
        numbers = {id(printed) for printed in table.numbers}
        assert len(cells) == len(numbers), f"{table.paper} {table.title}"
        assert {id(printed) for printed in cells} == numbers


@pytest.mark.long
def test_a_page_shows_each_verdict_of_the_judge(tables):
    of_paper = [table for table in tables if table.paper == "003"]
    text = paper_page("003", "papers/003.html", of_paper, {}, COMMON)
    explained = data_of(text)["numbers"]
    run = [n for table in of_paper for n in table.numbers if n.judgement]
    assert len(explained) == len(run) == text.count("<button data-open=")
    marks = Counter(re.findall(r"[▲▼]+(?=<small>)", text))
    differing = Counter(
        ("▲" if n.judgement.comparison.difference > 0 else "▼") * (1 + n.judgement.much)
        for n in run
        if n.kind in ("differs", "differs much")
    )
    assert marks == differing
    verbs = Counter(
        kind
        for _, _, *sentences in explained
        for kind, start in (("agrees", "They agree"), ("differs", "They differ:"))
        if any(sentence.startswith(start) for sentence in sentences)
    )
    assert verbs == Counter(n.kind for n in run if n.kind in ("agrees", "differs"))


@pytest.mark.long
def test_the_list_of_papers_adds_up(tables):
    papers: dict[str, list[PrintedTable]] = {}
    for table in tables:
        papers.setdefault(table.paper, []).append(table)
    text = papers_index("papers/index.html", papers, COMMON)
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", text)
    numbers = [[float(n or 0) for n in re.findall(r'class="number">([\d.]*)<', r)] for r in rows]
    assert len(numbers) == len(papers) + 1
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == pytest.approx(
        numbers[-1], abs=0.3
    )
    last = dict(zip(COLUMNS, numbers[-1], strict=True))
    assert last["printed"] == len(every()) == sum(last[head] for head in HEADS.values())
    assert re.findall(r"<th\b[^>]*>(.*?)</th>", text)[: 1 + len(COLUMNS)] == ["Paper", *COLUMNS]
    assert 0 < last["closely"] < last["agree"]


def data_of(text):
    """Return the data of a page, with texts of several explanations filled in."""
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text)[1])
    data["numbers"] = [
        [data["shared"][part] if isinstance(part, int) else part for part in explanation]
        for explanation in data["numbers"]
    ]
    return data


@pytest.mark.long
def test_layers_of_a_network_are_the_columns_and_divergences_stand_in_the_methods_first_row(tables):
    (table,) = (table for table in tables if (table.paper, table.number) == ("001", "2"))
    found = arranged(table)
    assert list(found.columns.values()) == [
        *("1 CA", "2 C", "3 A", "4 C", "5 A", "6 F"),
        *("KL, softmax", "KL, softmax simplified", "KL, softmax full"),
    ]
    rows = found.blocks["Leaky ReLU (0.01), variance of input noise 0.01"]
    theirs = {
        row: [cells[c].published.value if c in cells else None for c in found.columns]
        for row, cells in rows.items()
    }
    # Table 2 of the paper, its third block.
    assert theirs == {
        "AP1, ε of μ": [0.14, 0.29, 0.24, 0.60, 0.45, 0.67, 0.03, None, None],
        "AP2 paper, ε of μ": [0.02, 0.03, 0.03, 0.05, 0.05, 0.08, None, 0.003, 0.002],
        "AP2 paper, ε of σ": [1.07, 0.91, 0.91, 0.68, 0.58, 0.69, None, None, None],
    }
