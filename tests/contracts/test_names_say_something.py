"""Names that say nothing of what they hold are not given to variables, parameters and functions."""

import ast
from collections.abc import Iterator

import pytest

from tests.contracts.test_flow import ROOT

SAY_NOTHING = {"found", "own", "kept", "like", "words"}
FOLDERS = ("bnnbench", "datasets", "methods", "metrics", "suites", "reports")


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store()) | ast.arg(name):
                yield name, node.lineno
            case ast.FunctionDef(name) | ast.ClassDef(name) | ast.alias(_, str(name)):
                yield name, node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_binding_has_a_name_that_says_nothing(folder):
    nameless = [
        f"{file.relative_to(ROOT)}:{line} {name}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for name, line in bindings(ast.parse(file.read_text(encoding="utf-8")))
        if name in SAY_NOTHING
    ]
    assert not nameless


def test_every_kind_of_binding_is_seen():
    code = "import a as own\ndef kept(like):\n    for found in like:\n        words: int = found\n"
    assert {name for name, _ in bindings(ast.parse(code))} >= SAY_NOTHING
