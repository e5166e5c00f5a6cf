"""Every number in a table of a document comes from runs in docs/bundle, every card from code."""

import re

import pytest

from bnnbench.methods import METHODS
from bnnbench.metrics import LISTED
from docs.generate.formulary import CHAPTERS, chapters
from docs.generate.tables import BLOCK, DOCUMENTS, ROOT, VALUE, rewritten

pytestmark = pytest.mark.long


BY_HAND = {
    "docs/scaling.md": "seconds of the engine on one machine, and nothing about methods",
    "docs/collected_tables.md": "made as a whole from its record (tests/docs/test_collected.py)",
}
NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|95 %|Python 3\.\d+|Apache-2\.0",
    re.DOTALL,
)
WITH_TABLES = [n for n in DOCUMENTS if BLOCK.search((ROOT / n).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_tables_agree_with_the_bundle(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text) == text, "run python -m docs.generate.tables"


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_changed_digit_is_found(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    inside = BLOCK.search(text).start(3)
    digits = re.compile(r"(?<=\| )\d(?=[\d. ±]* )").finditer(text, inside)
    place = next(digits, re.compile(r"\d").search(text, inside)).start()
    changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    assert changed != text
    assert rewritten(changed) == text


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in BY_HAND])
def test_no_measured_number_is_typed(name):
    assert typed_numbers((ROOT / name).read_text(encoding="utf-8")) == [], (
        "write settings as code, results as <!-- value ... -->"
    )


def test_a_typed_number_is_found_and_what_is_made_or_code_is_not():
    made = "<!-- covered -->\n7.1 and 3 %\n<!-- end -->\nof <!-- value a=b -->0.7<!-- end -->"
    assert typed_numbers(f"{made} with `0.3`, $0.4$, 95 % and [two](a0.5.md)") == []
    assert typed_numbers("AdamW has .406, -1.25 or 12 %, in 3 of 20") == [".406", "1.25", "12 %"]


def typed_numbers(text: str) -> list[str]:
    """Return the decimal numbers and percentages in sentences that no run or setting contains."""
    prose = NOT_PROSE.sub("", VALUE.sub("", BLOCK.sub("", text)))
    return re.findall(r"(?<![\w.])\d*\.\d+|\d+ %", prose)


def test_every_metric_is_in_the_formulary_once_and_with_a_formula():
    listed = [metric.name for of_chapter in chapters().values() for metric in of_chapter]
    assert sorted(listed) == sorted(LISTED)
    assert list(chapters()) == list(CHAPTERS), "some metric is in no chapter"
    entries = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8").split("\n### ")[1:]
    assert [entry.partition("\n")[0] for entry in entries if "$" not in entry] == []


def test_every_method_has_a_card():
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs" / "methods.md").read_text("utf-8"), re.M)
    assert sorted(headings) == sorted(METHODS)


def test_the_example_column_shows_every_word_but_best():
    text = (ROOT / "docs/reading_a_table.md").read_text(encoding="utf-8")
    column = text[: text.index("<!-- end -->\n")].splitlines()
    states = {line.split("|")[4].strip() for line in column if line.startswith("| ")}
    words = {"best mean", "practically equal", "undecided", "worse", "not compared: a constant"}
    assert words <= states
