"""The tables of names."""

import re
from pathlib import Path

import pytest

from bnnbench.methods.saved.names import BUILT, FUNCTIONS, PARTS
from bnnbench.methods.saved.registry import TABLES, function_name, function_of, kind_of, name_of

METHODS = Path(__file__).resolve().parents[3] / "methods"
NOT_SAVED = {"Posterior", "LibraryPosterior", "RungPosterior", "ExactPosterior"} | {
    "RestartsPosterior"
}
"""The protocol, posteriors in the process of another library, and levels of approximation."""


@pytest.mark.parametrize("name", [*PARTS, *BUILT])
def test_a_name_stands_for_a_class_that_has_this_name(name):
    assert name_of(kind_of(name)) == name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_name_stands_for_a_function_that_has_this_name(name):
    assert function_name(function_of(name)) == name


def test_every_posterior_of_the_project_has_a_name():
    named = {path.partition(":")[2] for path in PARTS.values()}
    texts = [file.read_text() for file in METHODS.rglob("*.py")]
    classes = {
        name for text in texts for name in re.findall(r"^class (\w*Posterior)\b", text, re.M)
    }
    assert classes - named == NOT_SAVED


def test_no_name_stands_for_two_classes():
    names = [name for table in TABLES for name in table]
    assert len(names) == len(set(names))
