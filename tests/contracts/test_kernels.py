"""Compiled code sees nothing whose change would leave it in its cache."""

import ast
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parent.parent.parent / "methods" / "kernels"
COMPILER = {"compilation.py"}
"""What compiles but is not compiled."""


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda path: path.name)
def test_kernels_take_from_this_project_only_what_lies_beside_them(path):
    tree = ast.parse(path.read_text())
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    ours = {m for m in modules if m.split(".")[0] in ("datasets", "methods", "metrics", "suites")}
    beside = {m for m in ours if m.startswith("methods.kernels.")}
    assert ours == beside or path.name in COMPILER
