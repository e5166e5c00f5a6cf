"""Packages import only from their left."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FLOW = ("datasets", "methods", "metrics", "suites", "reports")
ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [path for package in FLOW for path in sorted((ROOT / package).rglob("*.py"))]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return line and package of every import, also of those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield node.lineno, (node.module or "").partition(".")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_import_only_from_their_left(path):
    place = FLOW.index(path.relative_to(ROOT).parts[0])
    forbidden = {*FLOW[place + 1 :], "tests"}
    found = [(line, name) for line, name in imported(ast.parse(path.read_text()))]
    assert not [f"line {line}: {name}" for line, name in found if name in forbidden]


PREDICTIONS = ("methods.predictive", "methods.function_space.dirichlet")
"""What a prediction is, and the mathematics of a distribution over predictions."""


def test_metrics_know_of_methods_only_what_a_prediction_is():
    for path in (ROOT / "metrics").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("methods"):
                assert node.module in PREDICTIONS, path


def test_only_one_file_touches_the_network():
    network = {"pooch", "requests", "urllib", "socket", "http", "ftplib"}
    touching = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if network & {name for _, name in imported(ast.parse(path.read_text()))}
    }
    assert touching <= {"datasets/files.py"}
