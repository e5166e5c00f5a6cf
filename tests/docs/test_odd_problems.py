"""The page on odd problems has every method's answers, and no fault."""

import re

import pytest

from bnnbench.methods import METHODS
from bnnbench.suites.check.odd_problems import ODD
from docs.generate.odd_problems import PAGE, answers_of, page, row

TEXT = PAGE.read_text(encoding="utf-8")


def test_every_method_and_problem_is_on_the_page():
    rows = re.findall(r"^\| (\w+) \|(.*)\|$", TEXT, re.M)
    names = [name for name, _ in rows if name in METHODS]
    assert names == [*METHODS]
    assert all(cells.count("|") == len(ODD) - 1 for name, cells in rows if name in METHODS)
    assert [name for name in ODD if f". {name}: {ODD[name].meaning}\n" not in TEXT] == []


def test_no_method_of_this_project_has_a_fault_on_the_page():
    table = TEXT.partition("| method |")[2]
    assert "**F**" not in table


@pytest.mark.parametrize("name", ["marginal", "sklearn_ridge", "exact_linear"])
def test_a_row_is_what_the_method_answers(name):
    assert row(name, answers_of(name)) in TEXT


def test_a_fault_would_be_seen():
    (answer, *_) = answers_of("marginal") or ()
    fault = type(answer)("few rows", "mlp regression", "fault", "ValueError: a `bad` number")
    text = page({"mine": [fault], "other": None})
    assert "| mine | **F** |" in text
    assert "- `ValueError: a bad number`: mine (few rows)" in text
    assert "package is missing" in text
