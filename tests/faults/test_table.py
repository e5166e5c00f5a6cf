"""The table of cases in docs/faults.md names tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_case_has_its_test():
    text = (ROOT / "docs" / "faults.md").read_text()
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and "| before |" not in line
    ]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) == len(rows) > 20
    for file, name in named:
        paths = (ROOT / "tests").rglob(file)
        nodes = [node for path in paths for node in ast.parse(path.read_text()).body]
        assert name in {node.name for node in nodes if isinstance(node, ast.FunctionDef)}, name
