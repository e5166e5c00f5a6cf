"""A suite file contains only values."""

import ast
from pathlib import Path

import pytest

SUITES = Path(__file__).resolve().parent.parent.parent / "suites"
DOING = ("probes", "truth", "check", "own", "posthoc", "departures.py", "following.py")
"""Folders and files of the code that runs suites, checks methods and reads departures."""
FILES = [
    path
    for path in sorted(SUITES.rglob("*.py"))
    if path.relative_to(SUITES).parts[0] not in (*DOING, "__init__.py")
]

ACTIONS = (
    *(ast.For, ast.While, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Lambda, ast.IfExp, ast.BoolOp, ast.Compare),
    *(ast.With, ast.Try, ast.Await, ast.Yield, ast.NamedExpr, ast.Delete, ast.Global),
)
"""Statements that act in place of stating a value; a grid of settings is a value."""


def offences(source: str) -> list[str]:
    """Return the statements that a suite file must not contain, by line."""
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        return ["line 1: a docstring is missing"]
    found = []
    for node in tree.body[1:]:
        if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)):
            found.append(f"line {node.lineno}: {type(node).__name__}")
        found += [
            f"line {inner.lineno}: {type(inner).__name__}"
            for inner in ast.walk(node)
            if isinstance(inner, ACTIONS)
        ]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SUITES)))
def test_a_suite_only_declares(path):
    assert offences(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "for x in y: pass",
        "def f(): pass",
        "class C: pass",
        "X = [a for a in b if a > 0]",
        "X = 1 if Y else 2",
        "X = lambda: 0",
        "print(1)",
        "if X: Y = 1",
        '"""A second docstring."""',
        "with x: pass",
    ],
)
def test_what_does_something_is_found(code):
    assert offences(f'"""A suite."""\n{code}\n')
