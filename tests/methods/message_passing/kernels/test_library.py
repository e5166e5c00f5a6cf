"""Libraries are built once, whole, and never used beyond a change of their sources."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from methods.base import PackageMissing
from methods.message_passing.kernels import library


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the sources, to be changed."""
    here = tmp_path / "kernels"
    shutil.copytree(library.HERE, here, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(library, "HERE", here)
    monkeypatch.setattr(library, "PLACES", (here / "__pycache__", tmp_path / "elsewhere"))
    monkeypatch.setattr(library, "_folder", library._folder.__wrapped__)
    # What is built matters here, not how fast it is.
    monkeypatch.setattr(library, "flags", lambda: ("-O0", *library.STRICT, "-fPIC", "-shared"))
    return here


def load(dtype: torch.dtype = torch.float64):
    return library._load.__wrapped__(dtype)


def built(folder: Path) -> set[Path]:
    return set(folder.rglob("*.so"))


def test_a_library_is_built_once_for_each_type(sources, monkeypatch):
    load(torch.float64)
    (first,) = built(sources)
    load(torch.float32)
    both = built(sources)
    assert first in both
    assert len(both) == 2
    monkeypatch.setattr(library, "build", lambda *_: pytest.fail("built again"))
    load(torch.float64)


def test_a_change_of_any_source_is_built_anew_and_removes_the_old(sources):
    load()
    (first,) = built(sources)
    header = sources / "normal.cuh"
    header.write_text(header.read_text() + "// changed\n")
    load()
    (second,) = built(sources)
    assert second.parent != first.parent


def test_another_compiler_or_flag_has_a_library_of_its_own(sources, monkeypatch):
    load()
    (first,) = built(sources)
    monkeypatch.setenv("CC", f"{library.compiler()[0]} -DANOTHER")
    load()
    assert first in built(sources)
    assert len(built(sources)) == 2


def test_a_place_that_cannot_be_written_to_is_passed_over(sources):
    (sources / "__pycache__").write_text("a file, where no folder can be made")
    load()
    (path,) = built(sources.parent / "elsewhere")
    assert path.parent.parent == sources.parent / "elsewhere"


def test_without_any_place_the_library_is_built_for_this_process(sources):
    (sources / "__pycache__").write_text("")
    (sources.parent / "elsewhere").write_text("")
    assert load().swap_all


def test_builds_at_once_do_not_disturb_one_another(sources):
    with ThreadPoolExecutor(4) as pool:
        libraries = list(pool.map(load, [torch.float32] * 4))
    assert all(loaded.swap_all for loaded in libraries)
    assert len(built(sources)) == 1  # no partial files are left


def test_no_compiler_is_said_with_both_cures(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(PackageMissing, match=r'install one.*backend="reference"'):
        library.compiler()


def test_what_a_compiler_says_is_handed_on_and_nothing_is_left(sources):
    (sources / "labels.c").write_text("int broken(void) { return nothing; }\n")
    with pytest.raises(RuntimeError, match="nothing"):
        load()
    assert not built(sources)


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="float32 or float64"):
        library.load(torch.float16)


def test_sources_compile_without_warnings_even_pedantic_ones(tmp_path):
    for defines in library.DEFINES.values():
        for name in library.SOURCES:
            words = [*library.compiler(), *library.STRICT, *defines, "-O1", "-Wall", "-Wextra"]
            words += ["-Wno-unused-function", "-Werror", "-c", str(library.HERE / name)]
            subprocess.run([*words, "-o", str(tmp_path / "out.o")], check=True)


def test_reference_backend_needs_no_compiler(monkeypatch):
    code = "from methods.message_passing.kernels import compiled; print('imported')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PATH": "", "PYTHONPATH": str(library.HERE.parents[2])},
    )  # fmt: skip
    assert done.stdout.strip() == "imported"
