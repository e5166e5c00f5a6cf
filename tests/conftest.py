"""Shapes are checked by beartype wherever our packages are imported under pytest."""

import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start

import jaxtyping
import pytest

PACKAGES = ["datasets", "methods", "metrics", "suites", "reports"]

jaxtyping.install_import_hook(PACKAGES, "beartype.beartype")

import torch  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data, or a skipped test where there is none."""
    folder = os.environ.get("BNNBENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data: set BNNBENCH_DATA to a folder that holds it")
    return Path(folder)


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent
