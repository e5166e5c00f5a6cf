"""The sources behind a class."""

import importlib.metadata
import sys
import tokenize
from pathlib import Path

import pytest

from bnnbench.methods import METHODS, source_code
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.source_code import (
    digest_of,
    files_behind,
    modules_of,
    packages_behind,
    sources_behind,
)
from bnnbench.methods.tuning.method import Tuned


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package outside of this project, one file of which imports another."""
    folder = tmp_path / "strangers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "method.py").write_text("import numpy\nfrom . import part\nfrom .deep import leaf\n")
    (folder / "part.py").write_text("import json\nX = 1\n")
    (folder / "unused.py").write_text("")
    (folder / "deep").mkdir()
    (folder / "deep" / "__init__.py").write_text("from bnnbench.methods.adamw import AdamW\n")
    (folder / "deep" / "leaf.py").write_text("from ..part import X\n")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield folder
    for name in [n for n in sys.modules if n.partition(".")[0] == "strangers"]:
        del sys.modules[name]
    forget()


def forget() -> None:
    for function in vars(source_code).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def test_imports_are_followed_within_a_package_and_into_this_project(package):
    found = files_behind("strangers.method")
    assert {"strangers.method", "strangers.part", "strangers.deep", "strangers.deep.leaf"} <= set(
        found
    )
    assert "bnnbench.methods.fitting.training" in found  # through AdamW
    assert "strangers.unused" not in found
    assert not {"numpy", "json", "bnnbench.methods.ivon"} & set(found)


def test_a_change_anywhere_behind_it_changes_the_digest_and_layout_does_not(package):
    before = digest_of("strangers.method")
    for text in ("X = 1  # one\nimport json\n", "import json\n\n\nX    =    1\n"):
        (package / "part.py").write_text(text)
        forget()
        assert (digest_of("strangers.method") == before) == text.startswith("import")
    (package / "part.py").write_text("import json\nX = 2\n")
    forget()
    assert digest_of("strangers.method") != before


@pytest.mark.parametrize("text", ["x = f(a, b)", "if a:\n    b()\nc()", "y = 'a # b'"])
def test_docstrings_and_comments_are_no_part_of_it(package, text):
    path = package / "part.py"
    digests = []
    for source in (text, f'"""About."""\n# Why.\n{text}  # so\n'):
        path.write_text(source + "\n")
        forget()
        digests.append(digest_of("strangers.part"))
    assert digests[0] == digests[1]
    path.write_text("if a:\n    b()\n    c()\n")  # as the second text, but for the layout
    forget()
    assert digest_of("strangers.part") not in digests


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ('f"a{x}"', ['f"', "a", "{", "x", "}", '"']),
        ("f'{f\"{x}\"}b'", ["f'", "{", 'f"', "{", "x", "}", '"', "}", "b", "'"]),
        ('f"""a\n{x}"""', ['f"""', "a\n", "{", "x", "}", '"""']),
    ],
)
def test_an_f_string_counts_as_it_is_written_whatever_the_version(written, parts, monkeypatch):
    """Python 3.12 has tokens of its parts, which are made up here."""
    source = f"y = {written}\n".encode()
    start, end, middle = 1001, 1002, 1003
    kinds = {'f"': start, "f'": start, 'f"""': start, '"': end, "'": end, '"""': end}
    kinds |= {"{": tokenize.OP, "}": tokenize.OP, "x": tokenize.NAME}
    tokens = [token(tokenize.NAME, "y", (1, 0)), token(tokenize.OP, "=", (1, 2))]
    place = (1, 4)
    for part in parts:
        tokens.append(token(kinds.get(part, middle), part, place))
        place = tokens[-1].end
    tokens.append(token(tokenize.NEWLINE, "", place))
    before = list(source_code._significant(source))
    monkeypatch.setattr(source_code, "FSTRING_START", start)
    monkeypatch.setattr(source_code, "FSTRING_END", end)
    monkeypatch.setattr(source_code.tokenize, "tokenize", lambda readline: iter(tokens))
    assert list(source_code._significant(source)) == before == [f" y={written}"]


def token(kind, text, start):
    """Return a token that begins at a place."""
    lines = text.split("\n")
    row = start[0] + len(lines) - 1
    end = row, len(lines[-1]) + (start[1] if len(lines) == 1 else 0)
    return tokenize.TokenInfo(kind, text, start, end, "")


def test_kernels_in_other_languages_count():
    module = METHODS["message_passing"].partition(":")[0]
    assert {"units.c", "units.cuh", "weights.cu"} <= {path.name for path in sources_behind(module)}
    assert "compiled.py" in {path.name for path in sources_behind(module)}


def test_versions_are_of_what_the_module_imports(package):
    assert packages_behind("strangers.method") == {"numpy": importlib.metadata.version("numpy")}


def test_every_method_has_a_digest_of_its_own_files():
    for path in METHODS.values():
        module = path.partition(":")[0]
        assert Path(files_behind(module)[module]).is_file()
        assert len(digest_of(module)) == 64


def test_code_that_fits_and_predicts_nothing_is_behind_no_method():
    """A new table of a report leaves every finished run a run of today's code."""
    for path in METHODS.values():
        behind = files_behind(path.partition(":")[0])
        others = [name for name in behind if not name.startswith("bnnbench.methods.")]
        assert all(name.startswith("bnnbench.datasets.") for name in others), others


def test_the_modules_of_a_method_are_those_of_all_classes_in_its_settings():
    method = Tuned(Ensemble(2, Laplace(Sgd())), trials=2)
    places = [
        f"bnnbench.methods.{name}" for name in ("tuning.method", "ensemble", "laplace.method")
    ]
    assert modules_of(method)[:3] == tuple(places)
    assert "bnnbench.methods.sgd" in modules_of(method)
    assert modules_of(AdamW()) == ("bnnbench.methods.adamw",)
    alone, within = digest_of("bnnbench.methods.ensemble"), digest_of(*modules_of(method))
    assert alone != within
