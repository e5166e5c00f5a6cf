"""Annotations of shapes are checked while tests run."""

import jaxtyping
import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from tests import shapes


def test_a_wrong_shape_is_an_error_under_pytest():
    with pytest.raises(jaxtyping.TypeCheckError):
        CategoricalPredictive(torch.zeros(3, 2))


def test_axes_of_one_name_must_agree():
    with pytest.raises(jaxtyping.TypeCheckError):
        Split(torch.zeros(3, 2), torch.zeros(4, dtype=torch.long))


def test_an_inner_function_is_checked_when_it_is_first_made_in_a_test():
    def made():
        def inner(count: int) -> int:
            return count

        return shapes.checked(inner)

    firsts = [made() for _ in range(shapes.MADE)]
    for inner in firsts:
        with pytest.raises(jaxtyping.TypeCheckError):
            inner("three")
    assert made()("three") == "three"
    shapes.begin()
    with pytest.raises(jaxtyping.TypeCheckError):
        made()("three")
