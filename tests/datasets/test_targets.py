"""Rows that no method can fit are refused with cause and cure, wherever a problem is made."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.datasets.targets import check_rows
from bnnbench.methods.base import Problem
from tests.methods.problems import classification, regression

INPUTS, LABELS = torch.zeros(4, 2), torch.tensor([0, 1, 2, 0])
REAL, CLASSES = Gaussian(), Categorical(3)
REFUSED = {
    "a flat target": (INPUTS, torch.zeros(4), REAL, r"\(4,\).*targets\[:, None\]"),
    "whole targets": (INPUTS, LABELS[:, None], REAL, r"int64.*targets.float\(\)"),
    "too few targets": (INPUTS, torch.zeros(3, 1), REAL, r"\(4, 2\) with targets of \(3, 1\)"),
    "no target axis": (INPUTS, torch.tensor(0.0), REAL, "a target for each row"),
    "no rows": (INPUTS[:0], torch.zeros(0, 1), REAL, "needed training rows; got none"),
    "whole inputs": (INPUTS.long(), torch.zeros(4, 1), REAL, r"inputs.float\(\)"),
    "labels as floats": (INPUTS, LABELS.float(), CLASSES, r"float32.*targets.long\(\)"),
    "short labels": (INPUTS, LABELS.int(), CLASSES, r"int32.*targets.long\(\)"),
    "labels in a column": (INPUTS, LABELS[:, None], CLASSES, r"\(4, 1\).*targets\[:, 0\]"),
    "one-hot labels": (INPUTS, torch.eye(3)[LABELS], CLASSES, r"targets.argmax\(1\)"),
    "a label too large": (INPUTS, LABELS + 1, CLASSES, "labels are 1 to 3.*from 0 to 2"),
    "a negative label": (INPUTS, LABELS - 1, CLASSES, "labels are -1 to 1.*from 0 to 2"),
}


def rows(inputs: torch.Tensor, targets: torch.Tensor) -> Any:
    """Return rows like a split's, whose constructor refuses some of them under tests."""
    return SimpleNamespace(inputs=inputs, targets=targets)


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_method_can_fit_is_refused(case):
    inputs, targets, likelihood, reason = REFUSED[case]
    check: Any = getattr(check_rows, "__wrapped__", check_rows)
    with pytest.raises(ValueError, match=reason):
        check(rows(inputs, targets), likelihood)


def test_sound_rows_pass():
    for problem in (regression(), classification()):
        check_rows(problem.train, problem.likelihood)


def test_numbers_that_are_not_finite_are_left_to_methods():
    check: Any = getattr(check_rows, "__wrapped__", check_rows)
    check(rows(INPUTS + torch.inf, LABELS), CLASSES)
    check(rows(INPUTS, torch.full((4, 1), torch.nan)), REAL)


def test_a_problem_is_checked_where_it_is_made():
    train = classification().train
    with pytest.raises(ValueError, match="number the classes from 0"):
        Problem(train, Categorical(2), ())
