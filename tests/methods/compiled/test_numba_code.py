"""Compiled code is kept, but never beyond a change of any kernel."""

import shutil

import pytest

from bnnbench.methods.compiled import numba_code as compilation


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the kernels, to be changed."""
    here = tmp_path / "kernels"
    shutil.copytree(compilation.HERE, here, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compilation, "HERE", here)
    monkeypatch.setattr(compilation, "PLACES", (here / "__pycache__", tmp_path / "elsewhere"))
    return here


def folder():
    return compilation._folder.__wrapped__()


def test_a_change_of_any_file_names_another_folder_and_removes_the_old_one(package):
    first = folder()
    assert first.parent == package / "__pycache__"
    assert folder() == first
    simd = package / "simd.py"
    simd.write_text(simd.read_text() + "# changed\n")
    second = folder()
    assert second != first
    assert second.is_dir()
    assert not first.exists()


def test_a_place_that_cannot_be_written_to_is_passed_over(package):
    (package / "__pycache__").write_text("a file, where no folder can be made")
    assert folder().parent == package.parent / "elsewhere"


def test_without_any_place_kernels_are_compiled_all_the_same(package, monkeypatch):
    (package / "__pycache__").write_text("")
    (package.parent / "elsewhere").write_text("")
    assert folder() is None
    monkeypatch.setattr(compilation, "_folder", lambda: None)

    @compilation.compiled("contract")
    def reciprocal(x):
        return 1 / x

    assert reciprocal(4.0) == 0.25
    assert reciprocal(0.0) == float("inf")


def test_numbas_own_setting_is_as_it_was():
    before = compilation.SETTINGS.CACHE_DIR
    compilation.compiled("contract")(abs_of)
    assert before == compilation.SETTINGS.CACHE_DIR


def abs_of(x):
    return abs(x)
