"""Every number in a table of a document is backed by runs in docs/bundle."""

import re

import pytest

from tests.documents.tables import BLOCK, DOCUMENTS, ROOT, rewritten

WITH_TABLES = [n for n in DOCUMENTS if BLOCK.search((ROOT / n).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_tables_are_those_of_the_bundle(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text) == text, "run python -m tests.documents.tables"


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_changed_digit_is_found(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    digits = re.compile(r"(?<=\| )\d(?=[\d. ±]* )").finditer(text, BLOCK.search(text).start())
    place = next(digits).start()
    changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    assert changed != text
    assert rewritten(changed) == text
