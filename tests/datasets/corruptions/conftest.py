"""Real test images and frost textures; tests are skipped if they are absent."""

from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets.corruptions.files.textures import FILE_SET
from bnnbench.datasets.official.cifar10 import Cifar10


@pytest.fixture
def frost_textures(data_folder: Path, monkeypatch) -> Path:
    """The data folder if it contains the textures."""
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    if missing := FILE_SET.missing():
        pytest.skip(f"real data: {missing[0]} is not there")
    return data_folder


@pytest.fixture
def cifar10(data_folder: Path, monkeypatch) -> np.ndarray:
    """The official test images."""
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    if missing := Cifar10().missing("test"):
        pytest.skip(f"real data: {missing[0]} is not there")
    return np.ascontiguousarray(Cifar10().images("test")[0])
