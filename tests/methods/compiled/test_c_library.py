"""Libraries are built once, in one piece, and rebuilt after a change of their sources."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled import c_library
from bnnbench.methods.compiled.c_library import CLibrary


@pytest.fixture
def library(tmp_path, monkeypatch) -> CLibrary:
    """A library of one function, with its header in another folder."""
    sources, headers = tmp_path / "sources", tmp_path / "headers"
    for folder in (sources, headers):
        folder.mkdir()
    (headers / "number.cuh").write_text("#define NUMBER 3\n")
    (sources / "answer.c").write_text(
        '#include "number.cuh"\nint answer(void) { return NUMBER; }\n'
    )
    places = (sources / "__pycache__", tmp_path / "elsewhere")
    monkeypatch.setattr(c_library, "_loaded", c_library._loaded.__wrapped__)
    monkeypatch.setattr(c_library, "_folder", c_library._folder.__wrapped__)
    return CLibrary(sources, ("answer.c",), (headers,), places, "do without")


def built(folder: Path) -> set[Path]:
    return set(folder.rglob("*.so"))


def test_a_library_is_built_once_for_each_type(library, monkeypatch):
    assert library.load(torch.float64).answer() == 3
    assert library.load(torch.float32).answer() == 3
    assert len(built(library.folder)) == 2
    monkeypatch.setattr(CLibrary, "build", lambda *_: pytest.fail("built again"))
    assert library.load(torch.float64).answer() == 3


def test_a_change_of_a_header_is_built_anew_and_removes_the_old(library):
    library.load(torch.float64)
    (library.headers[0] / "number.cuh").write_text("#define NUMBER 4\n")
    assert library.load(torch.float64).answer() == 4
    assert len(built(library.folder)) == 1


def test_another_compiler_or_flag_has_a_library_of_its_own(library, monkeypatch):
    library.load(torch.float64)
    (first,) = built(library.folder)
    monkeypatch.setenv("CC", f"{c_library.compiler('')[0]} -DANOTHER")
    library.load(torch.float64)
    assert first in built(library.folder)
    assert len(built(library.folder)) == 2


def test_a_place_that_cannot_be_written_to_is_passed_over(library):
    (library.folder / "__pycache__").write_text("a file, where no folder can be made")
    assert library.load(torch.float64).answer() == 3
    assert len(built(library.places[1])) == 1
    nowhere = replace(library, places=(library.folder / "__pycache__",))
    assert nowhere.load(torch.float64).answer() == 3


def test_builds_at_once_do_not_disturb_one_another(library):
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(library.load, [torch.float32] * 4))
    assert [each.answer() for each in loaded] == [3] * 4
    assert len(built(library.folder)) == 1  # no partial files are left


def test_no_compiler_is_said_with_both_cures(library, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(PackageMissing, match=r"install one.*or do without"):
        library.load(torch.float64)


def test_what_a_compiler_says_is_handed_on_and_nothing_is_left(library):
    (library.folder / "answer.c").write_text("int broken(void) { return nothing; }\n")
    with pytest.raises(RuntimeError, match="nothing"):
        library.load(torch.float64)
    assert not built(library.folder)


def test_other_types_are_refused(library):
    with pytest.raises(ValueError, match="float32 or float64"):
        library.load(torch.float16)
