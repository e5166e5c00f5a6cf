"""Reports use typed conditions and methods: no code parses their names."""

import ast
from pathlib import Path

REPORTS = Path(__file__).parents[2] / "reports"

TAKES_APART = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
)

EXCEPTIONS = {
    "pages/methods/about.py": "reads docstrings",
    "figures/canvas.py": "mends the SVG text of matplotlib",
    "papers/published.py": "reads the printed tables, whose format has parts",
    "style/formulas.py": "reads docstrings",
    "style/variants.py": "puts labels, which state variants in symbols, into words",
    "pages/report/suite_chapter.py": "looks at the endings of files",
}


def test_no_name_is_taken_apart_in_reports():
    apart = {}
    for path in sorted(REPORTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if takes_apart(node):
                apart.setdefault(path.relative_to(REPORTS).as_posix(), []).append(node.lineno)
    unexpected = {name: lines for name, lines in apart.items() if name not in EXCEPTIONS}
    assert unexpected == {}, "ask the condition, the record or its description instead"
    assert apart.keys() == EXCEPTIONS.keys(), "an exception that is not needed any more"


def takes_apart(node: ast.AST) -> bool:
    """Return whether a node is a regular expression or splits a text."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "re" in {alias.name for alias in node.names}
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in TAKES_APART or (node.func.attr == "split" and bool(node.args))
