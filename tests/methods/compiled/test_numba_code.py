"""Compiled code is cached, but not beyond a change of any kernel."""

import shutil
from pathlib import Path

import pytest

from bnnbench.methods.compiled import numba_code as compilation
from bnnbench.methods.pbp.kernels import filtering


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Copies of the compiler package and of kernels that use it, which tests may change."""
    compiler, kernels = tmp_path / "compiled", tmp_path / "kernels"
    folders = {compilation.PACKAGE: compiler, Path(filtering.__file__).parent: kernels}
    for source, copy in folders.items():
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compilation, "PACKAGE", compiler)
    monkeypatch.setattr(compilation, "REQUESTED", ())
    places = kernels / "__pycache__", tmp_path / "elsewhere"
    monkeypatch.setattr(compilation, "places_for", lambda folder, name: places)
    return kernels


def folder(kernels):
    return compilation._folder.__wrapped__(kernels)


@pytest.mark.parametrize("changed", ["compiled/simd.py", "kernels/moments.py"])
def test_a_change_of_any_file_names_another_folder_and_removes_the_old_one(package, changed):
    first = folder(package)
    assert first.parent == package / "__pycache__"
    assert folder(package) == first
    path = package.parent / changed
    path.write_text(path.read_text() + "# changed\n")
    second = folder(package)
    assert second != first
    assert second.is_dir()
    assert not first.exists()


def test_a_place_that_cannot_be_written_to_is_passed_over(package):
    (package / "__pycache__").write_text("a file, where no folder can be made")
    assert folder(package).parent == package.parent / "elsewhere"


def test_without_any_place_kernels_are_compiled_all_the_same(package, monkeypatch):
    (package / "__pycache__").write_text("")
    (package.parent / "elsewhere").write_text("")
    assert folder(package) is None
    monkeypatch.setattr(compilation, "_folder", lambda kernels: None)

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
