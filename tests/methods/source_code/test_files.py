"""The files of a third-party method, and the packages that it imports."""

import importlib.metadata
import sys

import pytest

from bnnbench.methods import METHODS
from bnnbench.methods.source_code import Class, own_sources, packages_behind, sources_of
from tests.methods.source_code.fresh import forget


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package outside of this project, one file of which imports another."""
    folder = tmp_path / "strangers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "method.py").write_text("import numpy\nfrom . import part\nfrom .deep import leaf\n")
    (folder / "part.py").write_text("import json\nX = 1\n")
    (folder / "unused.py").write_text("")
    (folder / "fast.cu").write_text("")
    (folder / "deep").mkdir()
    (folder / "deep" / "__init__.py").write_text("from bnnbench.methods.adamw import AdamW\n")
    (folder / "deep" / "leaf.py").write_text("from ..part import X\n")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield folder
    for name in [n for n in sys.modules if n.partition(".")[0] == "strangers"]:
        del sys.modules[name]
    forget()


def test_imports_are_followed_within_a_package_and_not_into_this_project(package):
    names = {file.relative_to(package).as_posix() for file in own_sources("strangers.method")}
    assert names - {"__init__.py"} == {
        "method.py",
        "part.py",
        "fast.cu",
        "deep/__init__.py",
        "deep/leaf.py",
    }


def test_versions_are_of_what_the_module_imports(package):
    assert packages_behind("strangers.method") == {"numpy": importlib.metadata.version("numpy")}


def test_kernels_in_other_languages_count():
    module, _, name = METHODS["message_passing"].partition(":")
    names = {path.name for path in sources_of(Class(module, name))}
    assert {"units.c", "units.cuh", "weights.cu", "reference.py", "method.py"} <= names


@pytest.mark.long
def test_code_that_fits_and_predicts_nothing_is_behind_no_method(project):
    """A new table in a report leaves the code state of finished runs unchanged."""
    for path in METHODS.values():
        module, _, name = path.partition(":")
        for file in sources_of(Class(module, name)):
            assert file.relative_to(project).parts[0] in ("methods", "datasets"), file
