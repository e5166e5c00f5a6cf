"""Custom files are imported from their present source, never from older bytecode."""

import importlib
import os
import py_compile
import sys

import pytest

from bnnbench.methods import own_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(own_files.VARIABLE, "")
    yield tmp_path
    for name in ("edited_method", "edited_helper"):
        sys.modules.pop(name, None)
    sys.path_importer_cache.pop(str(tmp_path), None)


def test_edits_of_the_same_size_within_a_second_count(folder):
    for name in ("edited_method", "edited_helper"):
        file = folder / f"{name}.py"
        file.write_text("NUMBER = 1\n")
        os.utime(file, (10**9, 10**9))
        py_compile.compile(str(file))
        file.write_text("NUMBER = 2\n")
        os.utime(file, (10**9, 10**9))
    module = own_files.module_of(folder / "edited_method.py")
    assert importlib.import_module(module).NUMBER == 2
    assert importlib.import_module("edited_helper").NUMBER == 2
