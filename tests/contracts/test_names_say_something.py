"""Names are specific: five words that fit anything are not used."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [
    path
    for package in ("bnnbench", "datasets", "methods", "metrics", "suites", "reports")
    for path in sorted((ROOT / package).rglob("*.py"))
]
EMPTY = {"found", "own", "kept", "like", "words"}
WORDS = re.compile(rf"\b_*({'|'.join(EMPTY)})_*\b")


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that a source binds, except plain imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name


def empty_names(source: str) -> list[str]:
    """Return the bindings of a source with unspecific names, private or public, by line."""
    if not WORDS.search(source):
        return []
    return [
        f"line {line}: {name}"
        for line, name in bindings(ast.parse(source))
        if name.strip("_") in EMPTY
    ]


def test_every_name_says_what_it_holds(subtests):
    for path in FILES:
        with subtests.test(str(path.relative_to(ROOT))):
            assert empty_names(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "found = 1",
        "found: int",
        "found += 1",
        "self.own = 1",
        "a, (b, *own) = c",
        "def kept(): pass",
        "async def kept(): pass",
        "class like: pass",
        "def f(a, *like): pass",
        "lambda *, words: 0",
        "f(_found := 1)",
        "[a for own in b]",
        "with a as kept: pass",
        "import a as like",
        "from a import b as words",
        "try: pass\nexcept E as found: pass",
        "match a:\n    case [b, *own]: pass",
        "match a:\n    case {**kept}: pass",
    ],
)
def test_a_binding_of_any_kind_is_seen(code):
    assert len(empty_names(code)) == 1


def test_reading_an_empty_name_and_longer_names_are_no_bindings():
    assert empty_names("found_path = a.own + like(words=1)\ndef kept_rows(): pass") == []
