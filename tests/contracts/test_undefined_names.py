"""No name is undefined, not even where an error is handled that no test raises.

Ruff reads shapes, such as `"points *features"`, as expressions: names inside texts do not count.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ruff")

ROOT = Path(__file__).resolve().parents[2]
CHECK = (
    *(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--target-version"),
    *("py311", "--select", "F821", "--output-format", "json"),
)


def undefined_names(*paths: Path) -> list[str]:
    """Return file, line and message of each undefined name in these files and folders."""
    answer = subprocess.run([*CHECK, *paths], capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 1), answer.stderr
    findings = json.loads(answer.stdout)
    texts = {name: list(_texts(Path(name))) for name in {one["filename"] for one in findings}}
    places = [(one, (one["location"]["row"], one["location"]["column"] - 1)) for one in findings]
    return [
        f"{one['filename']}, line {place[0]}: {one['message']}"
        for one, place in places
        if not any(start <= place < end for start, end in texts[one["filename"]])
    ]


def _texts(path: Path) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield start and end, line and column, of every text but those with code inside."""
    source = path.read_text()
    lines = source.splitlines()
    nodes = list(ast.walk(ast.parse(source)))
    formatted = [part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in formatted:
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            yield (
                (node.lineno, _column(lines[node.lineno - 1], node.col_offset)),
                (node.end_lineno, _column(lines[node.end_lineno - 1], node.end_col_offset)),
            )


def _column(line: str, offset: int) -> int:
    """Return the number of characters before an offset in bytes."""
    return len(line.encode()[:offset].decode())


def test_no_name_is_undefined():
    folders = ("bnnbench", "datasets", "methods", "metrics", "suites", "reports", "tests")
    assert undefined_names(*(ROOT / folder for folder in folders)) == []


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    pass\nexcept ValueError:\n    raise Missing",
        "def f(kind: 'Missing'): ...\n\n\ndef g():\n    return Missing",
        "raise ValueError(f'{Missing} rows')",
        "def f(x: Float[Tensor, 'points']):\n    return points",
    ],
)
def test_an_undefined_name_is_seen(tmp_path, code):
    (tmp_path / "code.py").write_text(
        "from jaxtyping import Float\nfrom torch import Tensor\n" + code
    )
    assert len(undefined_names(tmp_path)) == 1


def test_shapes_in_texts_are_not_names(tmp_path):
    code = (
        "from jaxtyping import Float\nfrom torch import Tensor\n\n\n"
        "def f(μ: Float[Tensor, 'points *features'], x: Float[Tensor, 'points']): ...\n"
    )
    (tmp_path / "code.py").write_text(code)
    assert undefined_names(tmp_path) == []
