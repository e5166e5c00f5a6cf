"""Every number in a table of a document is backed by runs in docs/bundle, every card by code."""

import re

import pytest

from bnnbench.methods import METHODS
from bnnbench.metrics import LISTED
from tests.documents.formulary import CHAPTERS, chapters
from tests.documents.tables import BLOCK, DOCUMENTS, ROOT, rewritten

WITH_TABLES = [n for n in DOCUMENTS if BLOCK.search((ROOT / n).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_tables_are_those_of_the_bundle(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text) == text, "run python -m tests.documents.tables"


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_changed_digit_is_found(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    inside = BLOCK.search(text).start(3)
    digits = re.compile(r"(?<=\| )\d(?=[\d. ±]* )").finditer(text, inside)
    place = next(digits, re.compile(r"\d").search(text, inside)).start()
    changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    assert changed != text
    assert rewritten(changed) == text


def test_every_metric_is_in_the_formulary_once_and_with_a_formula():
    listed = [metric.name for of_chapter in chapters().values() for metric in of_chapter]
    assert sorted(listed) == sorted(LISTED)
    assert list(chapters()) == list(CHAPTERS), "some metric is in no chapter"
    entries = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8").split("\n### ")[1:]
    assert [entry.partition("\n")[0] for entry in entries if "$" not in entry] == []


def test_every_method_has_a_card():
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs" / "methods.md").read_text("utf-8"), re.M)
    assert sorted(headings) == sorted(METHODS)
