"""Pages and cards describe a method by its docstrings, including its paper's equations."""

import ast
import re
from pathlib import Path

import pytest

from bnnbench.methods import METHODS
from bnnbench.reports.pages.methods.about import about

ROOT = Path(__file__).parents[4] / "methods"
NUMBERS = r"((?:\d+(?:, | and | to )?)+)"
CITED = re.compile(rf"\b(?:eqs?\.|equations?) {NUMBERS}")
FOLDERS = {
    "pbp": ("pbp", "004"),
    "message_passing": ("message_passing", "000"),
    "function_space": ("function_space", "003"),
    "moment_propagation": ("moments", "001"),
}
"""Method → the folder that implements its paper's equations, and the paper."""


def expanded(text):
    """Return the numbers of "6, 7 and 12 to 14"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def cited_in(folder):
    """Return all equation numbers in the docstrings of a folder."""
    texts = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    return {n for text in texts for found in CITED.findall(" ".join(text.split()))
            for n in expanded(found)}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_the_source_names_every_equation_that_the_code_cites(name):
    cited = cited_in(FOLDERS[name][0])
    named = {n for found in CITED.findall(about({"type": name}).source) for n in expanded(found)}
    assert cited
    assert cited <= named, cited - named


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_told_in_two_plain_sentences(name):
    known = about({"type": name})
    assert len(known.sentences) == 2
    for sentence in known.sentences:
        assert sentence.endswith(".")
        assert "Source" not in sentence
        assert len(sentence.split()) <= 45
    assert not any("Source:" in text for text in known.details)


def test_a_source_beside_others_is_whole():
    source = about({"type": "mfvi"}).source
    assert source.startswith("Blundell et al. (2015)")
    assert "Kingma, Salimans and Welling (2015)" in source


def test_what_is_around_a_method_is_told_apart_from_it():
    known = about({"type": "tuned", "method": {"type": "adamw"}})
    assert (known.name, known.wrapped) == ("adamw", ("tuned",))
    assert about({"type": "a.stranger:Method"}).sentences == []
