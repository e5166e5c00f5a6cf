"""Custom files are imported from their present source, never from older bytecode."""

import importlib
import os
import py_compile
import sys

import pytest

from bnnbench.commands import check, methods
from bnnbench.methods import own_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(own_files.VARIABLE, "")
    yield tmp_path
    for name in ("edited_method", "edited_helper", "leaving", "leaving_helper"):
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


@pytest.mark.parametrize("call", ["sys.exit(0)", "sys.exit()", "raise SystemExit('gone')"])
def test_a_module_that_exits_while_it_is_imported_is_named(folder, call):
    (folder / "leaving_helper.py").write_text(f"import sys\n\n{call}\n")
    (folder / "leaving.py").write_text("import leaving_helper\n")
    name = own_files.module_of(folder / "leaving.py")
    with pytest.raises(own_files.ExitedWhileImporting, match="leaving exited") as caught:
        own_files.imported(name)
    assert "leaving_helper.py, line 3" in str(caught.value)
    for command in (check.main, methods.main):
        assert command([f"{folder / 'leaving.py'}:Method"]) == 2


def test_an_interrupt_while_importing_is_an_interrupt(folder):
    (folder / "interrupted_module.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        own_files.imported(own_files.module_of(folder / "interrupted_module.py"))
