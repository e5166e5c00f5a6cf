"""Compiled code depends on nothing whose change would leave it in its cache."""

import ast
from pathlib import Path

import pytest

METHODS = Path(__file__).resolve().parent.parent.parent / "methods"
KERNELS = [
    path
    for folder in ("hmc", "pbp", "row_by_row", "integration")
    for path in sorted((METHODS / folder / "kernels").glob("[!_]*.py"))
]
COMPILER = "bnnbench.methods.compiled"


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_kernels_take_from_this_project_only_what_lies_beside_them_and_the_compiler(path):
    package = ".".join(("bnnbench", *path.relative_to(METHODS.parent).parts[:-1]))
    tree = ast.parse(path.read_text())
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    ours = [m for m in modules if m.startswith("bnnbench")]
    assert [m for m in ours if not m.startswith((package, COMPILER))] == []


def test_every_compiled_function_lies_in_a_folder_of_kernels():
    decorators = ("@compiled", "@reordered", "@fused")
    found = {
        path.parent
        for path in METHODS.rglob("*.py")
        if any(line.startswith(decorators) for line in path.read_text().splitlines())
    }
    assert found == {path.parent for path in KERNELS} | {METHODS / "compiled"}
