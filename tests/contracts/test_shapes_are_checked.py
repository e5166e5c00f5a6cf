"""The annotations of shapes are more than comments while tests run."""

import jaxtyping
import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.predictions.predictive import CategoricalPredictive


def test_a_wrong_shape_is_an_error_under_pytest():
    with pytest.raises(jaxtyping.TypeCheckError):
        CategoricalPredictive(torch.zeros(3, 2))


def test_axes_of_one_name_must_agree():
    with pytest.raises(jaxtyping.TypeCheckError):
        Split(torch.zeros(3, 2), torch.zeros(4, dtype=torch.long))
