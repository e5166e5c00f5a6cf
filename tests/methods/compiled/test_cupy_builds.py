"""A build of CuPy that cannot use the driver is named with the driver's CUDA and the cure."""

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from bnnbench.engine.run.execute import execute
from bnnbench.estimators.regressor import BnnRegressor
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.cupy_builds import EXTRAS, installation, misfit, misfits_explained
from tests.engine.workers.test_workers import task
from tests.suites.fakes import Mean

OLD_DRIVER = (
    "CuPy is built for CUDA 13.2, but the NVIDIA driver supports no more than CUDA 12.4: "
    "pip uninstall cupy-cuda13x, then pip install bnnbench[gpu12]"
)
REFUSED = "cudaErrorInsufficientDriver: CUDA driver version is insufficient"


class CUDARuntimeError(RuntimeError):
    """Stands for CuPy's error of this name."""


def runtime(driver: int, built: int) -> SimpleNamespace:
    """Return CuPy's functions, with the versions of a driver and of its own build."""
    return SimpleNamespace(
        driverGetVersion=lambda: driver,
        runtimeGetVersion=lambda: built,
        CUDARuntimeError=CUDARuntimeError,
    )


@pytest.fixture
def old_driver(monkeypatch):
    """CuPy for CUDA 13 beside a driver for CUDA 12."""
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime(12040, 13020)))
    monkeypatch.setitem(sys.modules, "cupy", cupy)


@dataclass(frozen=True)
class NeedsCupy(Mean):
    """Uses CuPy as kernels do."""

    def fit(self, problem, rng):
        raise CUDARuntimeError(REFUSED)


def test_a_build_fits_every_driver_of_its_major_version_or_a_later_one():
    for driver, built in ((13020, 13020), (13000, 13020), (13000, 12090), (12000, 12090)):
        assert misfit(runtime(driver, built)) is None


def test_the_extra_for_the_driver_is_named_or_a_newer_driver():
    assert misfit(runtime(12040, 13020)) == OLD_DRIVER
    assert "CUDA 11.8: install a driver for CUDA 12 or later" in str(misfit(runtime(11080, 12090)))
    assert "built for CUDA 12.9, finds no NVIDIA driver" in str(misfit(runtime(0, 12090)))


def test_only_an_error_of_a_build_that_does_not_fit_is_replaced(old_driver, monkeypatch):
    with pytest.raises(PackageMissing, match=re.escape(OLD_DRIVER)) as caught, misfits_explained():
        raise CUDARuntimeError(REFUSED)
    assert isinstance(caught.value.__cause__, CUDARuntimeError)
    with pytest.raises(ValueError, match="a bug"), misfits_explained():
        raise ValueError("a bug")
    fits = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime(13000, 13020)))
    monkeypatch.setitem(sys.modules, "cupy", fits)
    with pytest.raises(CUDARuntimeError, match="out of memory"), misfits_explained():
        raise CUDARuntimeError("out of memory")


def test_without_cupy_errors_stay(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with pytest.raises(RuntimeError, match="a bug"), misfits_explained():
        raise RuntimeError("a bug")


def test_a_failed_run_has_the_cure_in_its_record_and_so_has_an_estimator(old_driver, monkeypatch):
    (outcome,) = execute(task(NeedsCupy()))
    assert outcome.record.outcome.status == "failed"
    assert OLD_DRIVER in str(outcome.record.outcome.error)
    monkeypatch.setattr(AdamW, "fit", NeedsCupy.fit)
    with pytest.raises(PackageMissing, match=re.escape(OLD_DRIVER)):
        BnnRegressor("adamw").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])


def test_the_extra_of_a_missing_cupy_is_that_of_torch(monkeypatch):
    for cuda, command in (
        ("12.8", "pip install bnnbench[gpu12]"),
        ("13.0", "pip install bnnbench[gpu]"),
        (None, "pip install bnnbench[gpu12] (CUDA 12) or pip install bnnbench[gpu] (CUDA 13)"),
    ):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        assert installation() == command


def test_extras_have_the_builds_of_their_versions():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    for cuda, extra in EXTRAS.items():
        assert any(line.startswith(f"cupy-cuda{cuda}x>=") for line in extras[extra])
