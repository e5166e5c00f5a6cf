"""Kernels in C if there is a compiler; else torch, with a warning."""

import shutil

import pytest
import torch

from bnnbench.methods.compiled.c_library import CLibrary
from bnnbench.methods.moments.kernels import compiled, reference, selection


def test_both_types_in_main_memory_are_computed_in_c():
    for dtype in (torch.float32, torch.float64):
        assert selection.kernels_for("fused", torch.zeros(1, dtype=dtype)) is compiled
        assert selection.kernels_for("reference", torch.zeros(1, dtype=dtype)) is reference


def test_other_types_and_devices_are_computed_by_torch():
    assert selection.kernels_for("fused", torch.zeros(1, dtype=torch.bfloat16)) is reference
    assert selection.kernels_for("fused", torch.zeros(1, device="meta")) is reference


def test_without_a_compiler_torch_computes_and_says_so(monkeypatch, tmp_path):
    library = compiled.LIBRARY
    elsewhere = CLibrary(
        library.folder, library.sources, library.headers, (tmp_path,), library.cure
    )
    monkeypatch.setattr(compiled, "LIBRARY", elsewhere)
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.warns(UserWarning, match=r"install one.*torch computes them, slowly"):
        assert selection._fused.__wrapped__("cpu") is reference
