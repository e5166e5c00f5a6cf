"""Modules of Gaussian processes depend on one another in one direction."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import bnnbench.methods.gp as room
from tests.contracts.test_flow import imported


def named(path: Path) -> set[str]:
    """Return the names that a module imports, anywhere in it, or has as strings."""
    tree = ast.parse(path.read_text())
    strings = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return strings | {name for _, name in imported(path)}


def test_no_module_needs_itself_through_others():
    files = {f"{room.__name__}.{path.stem}": path for path in Path(room.__path__[0]).glob("*.py")}
    arrows = {name: named(path) & files.keys() for name, path in files.items()}
    assert len(list(TopologicalSorter(arrows).static_order())) == len(files)
    assert sum(map(len, arrows.values())) > 8
