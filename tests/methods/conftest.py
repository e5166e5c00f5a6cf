"""Problems that several tests share."""

import pytest
import torch

from methods.architectures import Linear
from methods.base import Problem
from tests.methods.problems import regression


@pytest.fixture(scope="session")
def linear() -> Problem:
    """Linear regression of known noise, whose posterior has a closed form."""
    return regression(
        rows=60, noise_std=0.5, architecture=(Linear(1),), true_std=0.5, dtype=torch.float64
    )
